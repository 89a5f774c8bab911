"""NVIDIA's own binding against a stub library: what it answers becomes data, whatever it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from moet_boot.machine.facts.gpu import Gpu, GpuMemory, Nvml
from moet_boot.machine.nvml import is_integrated
from tests.machine.nvml_stub import build_stub

RESERVED, USED, TOTAL = 660_000_000, 4_194_304, 102_641_958_912


STUBS = (
    "gb10", "rtx", "no-processes", "two", "mig", "lost", "lost-early", "none", "mismatch", "no-driver", "strange",
)  # fmt: skip
ALL = """
import os, sys
from moet_boot.machine.nvml import read_nvml
for name in sys.argv[1:]:
    os.environ["NVML_STUB"] = name
    print(read_nvml().model_dump_json(exclude_none=True))
"""


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Nvml]:
    """What each of the stub's machines says, asked in one process that has the stub as its library."""
    return asked(build_stub(tmp_path_factory.mktemp("nvml")), *STUBS)


def asked(library: Path, *stubs: str) -> dict[str, Nvml]:
    lines = output(library, "-c", ALL, *stubs).splitlines()
    return {name: Nvml.model_validate_json(line) for name, line in zip(stubs, lines, strict=True)}


def output(library: Path, *arguments: str) -> str:
    env = {**os.environ, "LD_LIBRARY_PATH": str(library), "NVML_STUB": "rtx"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    return done.stdout


def only_gpu(nvml: Nvml) -> Gpu:
    assert nvml.init == "OK"
    (gpu,) = nvml.gpus
    return gpu


def test_a_gb10_has_no_memory_figure_and_is_well(answers: dict[str, Nvml]) -> None:
    nvml = answers["gb10"]
    gpu = only_gpu(nvml)
    assert (nvml.driver, nvml.library, nvml.cuda_driver) == ("580.95.05", "13.580.95.05", "13.2")
    assert (gpu.name, gpu.cc, gpu.integrated) == ("NVIDIA GB10", "12.1", True)
    assert gpu.memory == GpuMemory(error="NOT_SUPPORTED")
    assert (gpu.power_w, gpu.temp_c, gpu.sm_clock_mhz, gpu.utilization_pct) == (11.17, 36, 208, 96)
    assert (gpu.ecc, gpu.mig, gpu.compute_mode, gpu.pcie) == ("N/A", "N/A", "Default", None)
    assert (gpu.persistence, gpu.error, nvml.lost_gpus, nvml.topology) == (True, None, None, None)


def test_an_rtx_pro_6000(answers: dict[str, Nvml]) -> None:
    gpu = only_gpu(answers["rtx"])
    assert (gpu.cc, gpu.integrated) == ("12.0", False)
    assert (gpu.memory.total, gpu.memory.used, gpu.memory.reserved) == (TOTAL, USED, RESERVED)
    assert (gpu.ecc, gpu.mig, gpu.mig_devices) == ("Disabled", "Disabled", None)
    assert gpu.pcie is not None
    assert (gpu.pcie.gen_cur, gpu.pcie.gen_max, gpu.pcie.width_cur, gpu.pcie.width_max) == (1, 5, 8, 16)
    assert gpu.throttle == ["sw_power_cap", "hw_thermal_slowdown"]


def test_processes_once_each_with_what_they_hold(answers: dict[str, Nvml]) -> None:
    processes = {process.pid: process for process in only_gpu(answers["rtx"]).processes}
    assert processes[os.getpid()].used == 109_342_359_552
    assert processes[os.getpid()].kind == "compute"
    assert processes[4194303].used is None
    assert (processes[1].kind, processes[1].used) == ("graphics", 18_000_000)
    assert len(processes) == 3


def test_processes_that_may_not_be_listed_are_not_said_to_be_none(answers: dict[str, Nvml]) -> None:
    gpu = only_gpu(answers["no-processes"])
    assert (gpu.processes, gpu.processes_error) == ([], "NO_PERMISSION")


def test_two_cards(answers: dict[str, Nvml]) -> None:
    nvml = answers["two"]
    assert [gpu.index for gpu in nvml.gpus] == [0, 1]
    assert nvml.topology == "NODE"
    assert nvml.gpus[0].processes == []


def test_mig(answers: dict[str, Nvml]) -> None:
    gpu = only_gpu(answers["mig"])
    assert (gpu.mig, gpu.mig_devices, gpu.compute_mode) == ("Enabled", 2, "Exclusive_Process")


def test_a_lost_card_beside_a_good_one(answers: dict[str, Nvml]) -> None:
    nvml = answers["lost"]
    assert nvml.lost_gpus == [1]
    good, gone = nvml.gpus
    assert (good.error, good.memory.total) == (None, TOTAL)
    assert (gone.error, gone.name, gone.memory.total) == ("GPU_IS_LOST", "", None)


def test_a_card_that_is_lost_before_it_can_be_asked(answers: dict[str, Nvml]) -> None:
    nvml = answers["lost-early"]
    assert [gpu.error for gpu in nvml.gpus] == ["GPU_IS_LOST"]


def test_a_driver_without_cards(answers: dict[str, Nvml]) -> None:
    nvml = answers["none"]
    assert (nvml.init, nvml.gpus) == ("OK", [])


@pytest.mark.parametrize(
    ("stub", "name"),
    [
        ("mismatch", "LIB_RM_VERSION_MISMATCH"),
        ("no-driver", "DRIVER_NOT_LOADED"),
        ("strange", "ERROR_4711"),
    ],
)
def test_an_initialization_that_fails_is_named(answers: dict[str, Nvml], stub: str, name: str) -> None:
    assert answers[stub] == Nvml(init=name)


def test_a_library_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library")
    assert Nvml.model_validate_json(output(tmp_path, "-m", "moet_boot.machine.nvml")).init == "LIBRARY_NOT_FOUND"


def test_an_old_library_counts_what_the_driver_reserves_as_used(tmp_path: Path) -> None:
    gpu = only_gpu(asked(build_stub(tmp_path, "OLD"), "rtx")["rtx"])
    assert (gpu.memory.total, gpu.memory.used, gpu.memory.reserved) == (TOTAL, USED + RESERVED, None)
    assert gpu.throttle == ["hw_slowdown"]


def test_nothing_that_identifies_a_card_is_asked_for() -> None:
    source = Path(is_integrated.__code__.co_filename).read_text()
    assert not re.search("GetUUID|GetSerial|GetBoard|GetPciInfo|GetInforom", source)


@pytest.mark.parametrize(
    ("name", "cc", "memory", "integrated"),
    [
        pytest.param("NVIDIA GB10", "12.1", GpuMemory(error="NOT_SUPPORTED"), True, id="gb10"),
        pytest.param("NVIDIA GB10", "12.1", GpuMemory(total=1), True, id="gb10-with-a-figure"),
        pytest.param("Some OEM board", "12.1", GpuMemory(total=1), True, id="by-capability"),
        pytest.param("NVIDIA Thor", "11.0", GpuMemory(total=1), True, id="thor"),
        pytest.param("Unknown", None, GpuMemory(error="NOT_SUPPORTED"), True, id="by-its-answer"),
        pytest.param("NVIDIA H200", "9.0", GpuMemory(total=1), False, id="h200"),
        pytest.param("NVIDIA RTX PRO 6000", "12.0", GpuMemory(error="NO_PERMISSION"), False, id="another-error"),
        pytest.param("NVIDIA GB100X", "10.0", GpuMemory(total=1), False, id="a-like-name"),
    ],
)
def test_which_gpus_share_the_hosts_memory(name: str, cc: str | None, memory: GpuMemory, integrated: bool) -> None:
    assert is_integrated(name, cc, memory) is integrated
