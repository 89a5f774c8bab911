from pathlib import Path

import pytest

from moet_boot.machine import gpu
from moet_boot.machine.facts.gpu import Gpu, GpuProcess, Nvml
from moet_boot.machine.gpu import parse_driver_file, read_gpus, with_names
from moet_boot.machine.tree import Tree, UnreadError
from tests.machine.nvml_stub import build_stub
from tests.machine.trees import tree_of

OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (dvs-builder@U22)\n"
    "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2)\n"
)
PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.133.20  Mon Mar 10 2025\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stub(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def stub(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The reader's process finds the stub library; this process only learns that there is one."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    monkeypatch.setattr(gpu, "LIBRARY", str(library / "libnvidia-ml.so.1"))
    return monkeypatch


@pytest.mark.parametrize(
    ("text", "version", "flavour"),
    [
        (OPEN, "580.95.05", "open"),
        (PROPRIETARY, "570.133.20", "proprietary"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71", "595.71", "open"),
        ("something else", None, "proprietary"),
    ],
)
def test_the_drivers_own_file(text: str, version: str | None, flavour: str) -> None:
    assert parse_driver_file(text) == (version, flavour)


def test_a_gb10_with_its_driver_and_its_processes(stub: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.setenv("NVML_STUB", "gb10")
    files = {
        "/proc/driver/nvidia/version": OPEN,
        "/proc/1/comm": "gnome-shell",
        "/proc/1/cmdline": "/usr/bin/gnome-shell",
    }
    nvml = read_gpus(tree_of(tmp_path, files), 30)
    assert (nvml.init, nvml.driver, nvml.module_flavour) == ("OK", "580.95.05", "open")
    named = {process.pid: process.name for process in nvml.gpus[0].processes}
    assert named[1] == "gnome-shell"


def test_a_mismatch_still_tells_which_driver_is_loaded(stub: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.setenv("NVML_STUB", "mismatch")
    nvml = read_gpus(tree_of(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY}), 30)
    assert (nvml.init, nvml.driver) == ("LIB_RM_VERSION_MISMATCH", "570.133.20")


def test_a_driver_that_never_answers(stub: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.setenv("NVML_STUB", "hang")
    with pytest.raises(UnreadError, match=r"no answer in 0\.5 s"):
        read_gpus(Tree(tmp_path), 0.5)


def test_a_library_that_crashes_takes_only_its_reader_down(stub: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.setenv("NVML_STUB", "crash")
    with pytest.raises(UnreadError, match="ended with -6"):
        read_gpus(Tree(tmp_path), 30)


def test_no_library_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "LIBRARY", "libnvidia-ml.so.none")
    monkeypatch.setattr(gpu, "output_of_module", lambda *_: pytest.fail("a process was started"))
    assert read_gpus(Tree(tmp_path), 30) == Nvml(init="LIBRARY_NOT_FOUND")


def test_processes_get_their_names_and_whether_they_live() -> None:
    nvml = Nvml(init="OK", gpus=[Gpu(index=0, processes=[GpuProcess(pid=5), GpuProcess(pid=6)])])
    named = with_names(nvml, {5: "VLLM::EngineCore"}.get, lambda pid: pid == 5)
    assert [(p.pid, p.name, p.alive) for p in named.gpus[0].processes] == [
        (5, "VLLM::EngineCore", True),
        (6, "", False),
    ]
