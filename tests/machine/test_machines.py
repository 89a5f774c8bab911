"""Snapshots that real machines recorded: they load, they hold together, and they name nobody."""

import re
from pathlib import Path

import pytest

from moet_boot.machine.anonymous import anonymous
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.snapshot import SCHEMA

MACHINES = sorted((Path(__file__).parents[1] / "data" / "machines").glob("*.json"))
IDENTIFYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUID
    r"|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"  # MAC
    r"|\b(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}\b(?!\d)"  # IPv4
    r"|/(?:home|root)/",
    re.IGNORECASE,
)


@pytest.fixture(params=MACHINES, ids=lambda path: path.stem)
def machine(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_the_machine_of_the_tests_is_among_them() -> None:
    assert "cpu-ci" in {path.stem for path in MACHINES}


def test_it_is_complete(machine: Path) -> None:
    snapshot = load_snapshot(machine)
    assert snapshot.schema_ == SCHEMA
    missing = [name for name in ("meminfo", "swaps", "vmstat", "buddyinfo", "sysctl", "cgroup", "limits", "nvml", "docker")
               if getattr(snapshot, name) is None and name not in snapshot.errors]  # fmt: skip
    assert missing == []
    assert snapshot.errors.keys().isdisjoint(snapshot.model_dump(exclude_none=True).keys() - {"errors"})


def test_its_memory_adds_up(machine: Path) -> None:
    snapshot = load_snapshot(machine)
    assert snapshot.meminfo is not None
    assert snapshot.meminfo.residual_bytes < snapshot.meminfo.total_bytes / 10
    assert snapshot.buddyinfo is not None
    blocks = snapshot.buddyinfo.free_blocks_by_order
    listed = sum(count << order for order, count in enumerate(blocks)) * snapshot.buddyinfo.page_kb
    # a virtual machine that initializes its memory lazily lists less than is free, none lists more
    assert 0 < listed <= snapshot.meminfo.mem_free * 1.1


def test_it_names_nobody(machine: Path) -> None:
    nvml = load_snapshot(machine).nvml
    # the version of NVML's library has the form of an address
    text = machine.read_text().replace((nvml.library if nvml else None) or "-", "")
    assert IDENTIFYING.findall(text) == []
    snapshot = load_snapshot(machine)
    assert anonymous(snapshot) == snapshot


def test_it_describes_its_gpus_or_says_why_it_has_none(machine: Path) -> None:
    nvml = load_snapshot(machine).nvml
    assert nvml is not None
    assert (nvml.init == "OK") is bool(nvml.gpus) is bool(nvml.driver)
    for gpu in nvml.gpus:
        assert (gpu.name != "", gpu.error, gpu.integrated) == (True, None, False)
        assert gpu.memory.total is not None
        assert gpu.memory.used is not None
        assert gpu.memory.used < gpu.memory.total


def test_the_machine_of_the_tests_has_no_gpu() -> None:
    nvml = load_snapshot(next(path for path in MACHINES if path.stem == "cpu-ci")).nvml
    assert nvml is not None
    assert nvml.init == "LIBRARY_NOT_FOUND"
