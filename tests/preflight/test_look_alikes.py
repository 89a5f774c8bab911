"""Machines that look alike: what is healthy may not be refused, and its sick twin may not pass.

Whole verdicts, all checks together: one that is right about its own fact can still spoil a combination.
"""

from typing import Any

import pytest

from moet_boot.preflight.verdict import judge
from tests.checks.cases import GIB_KB, case_of, healthy

GIB = 1 << 30
CARD = healthy("rtx6000-a")["nvml"]["gpus"][0]
VRAM: int = CARD["memory"]["total"]
FRAGMENTS = [100_000, 50_000, 20_000, 9000, 4000, 2000, 1000, 500, 100, 20, 5, 0, 0, 0]
AGED = {"uptime_s": 900_000, "vmstat.compact_fail": 1_500_000}


def spark(available_gib: float, free_gib: float | None = None, **more: Any) -> dict[str, Any]:
    """Memory that is taken, or that is page cache where `free_gib` is less than what is available."""
    before = healthy("spark")["meminfo"]
    free = int((available_gib - 4 if free_gib is None else free_gib) * GIB_KB)
    cached = before["Cached"] + (0 if free_gib is None else before["MemFree"] - free)
    return {
        "meminfo.MemAvailable": int(available_gib * GIB_KB),
        "meminfo.MemFree": free,
        "meminfo.Cached": cached,
        **{f"meminfo.{name}": value for name, value in more.items()},
    }


def tenant(name: str, gib: float | None, **facts: Any) -> dict[str, Any]:
    used = None if gib is None else int(gib * GIB)
    return {"nvml.gpus.0.processes": [{"pid": 4242, "name": name, "used": used, "alive": True, **facts}]}


def stopped(seconds: float) -> dict[str, Any]:
    return {"docker.recently_exited": [{"name": "old", "exit_code": 0, "seconds_ago": seconds, "gpu": True}]}


def second_card(**facts: Any) -> dict[str, Any]:
    return {"nvml.gpus": [CARD, {**CARD, "index": 1, **facts}]}


def swap(size_gib: int, used_gib: float) -> dict[str, Any]:
    size = size_gib * GIB_KB
    return {"meminfo.SwapTotal": size, "meminfo.SwapFree": size - int(used_gib * GIB_KB)}


PAIRS = [
    pytest.param("spark", spark(113, 41), spark(72), id="page cache, or memory that is taken"),
    pytest.param("spark", spark(112, 2.9), spark(103, 2.9), id="no free memory, or none available"),
    pytest.param(
        "spark", spark(112.4) | tenant("Xorg", 0.4), spark(92) | tenant("python3", 20), id="desktop or tenant"
    ),
    pytest.param(
        "spark", spark(112.5) | stopped(30), spark(42) | stopped(30), id="stopped, with its memory back or not"
    ),
    pytest.param("spark", swap(64, 0), swap(64, 12) | {"vmstat.pgmajfault_per_s": 5000}, id="swap, or thrash"),
    pytest.param(
        "spark",
        {"buddyinfo.free_blocks_by_order": FRAGMENTS, **spark(112, 8)},
        {"buddyinfo.free_blocks_by_order": FRAGMENTS, **AGED},
        id="few large blocks of little free memory, or of much",
    ),
    pytest.param("spark", AGED, AGED | {"buddyinfo.free_blocks_by_order": FRAGMENTS}, id="old, or old and fragmented"),
    pytest.param(
        "spark", {"meminfo.CmaTotal": 9, "meminfo.CmaFree": 9}, spark(92, CmaFree=9 * GIB_KB), id="cma or kho"
    ),
    pytest.param(
        "spark",
        {"docker.image.cuda_archs": ["12.0f"]},
        {"docker.image.cuda_archs": ["12.0a"]},
        id="family code, or code of another GPU",
    ),
    pytest.param(
        "spark",
        {"nvml.gpus.0.memory": {"total": 130_663_165_952, "used": 70 * GIB}},
        {"nvml.init": "UNKNOWN", "nvml.gpus": []},
        id="nvml counts the page cache, or does not answer",
    ),
    pytest.param(
        "spark",
        {"cgroup.memory_max": 9_223_372_036_854_771_712, "cgroup.version": 1},
        {"docker.run.memory_limit": 4 * GIB},
        id="version 1 writes unlimited, or a limit kills",
    ),
    pytest.param("spark", {"fs.plane.fstype": "btrfs"}, {"fs.plane.o_direct": False}, id="o_direct or not"),
    pytest.param("spark", {"ports_in_use": [{"port": 8011}]}, {"ports_in_use": [{"port": 8010}]}, id="the port beside"),
    pytest.param("spark", {"files.0.size": 77_913_923_584}, {"files.0.size": 77_913_923_583}, id="a byte"),
    pytest.param("spark", {"pressure": None}, {"pressure.memory.full_avg10": 10.1}, id="no PSI, or pressure"),
    pytest.param(
        "rtx6000-a", {"meminfo.MemAvailable": 24 * GIB_KB}, {"files.0.complete": False}, id="host RAM for what"
    ),
    pytest.param("rtx6000-a", {"nvml.gpus.0.memory.used": 400 << 20}, {"nvml.gpus.0.memory.used": 2 * GIB}, id="card"),
    pytest.param(
        "rtx6000-a",
        second_card(memory={"total": VRAM, "used": 90 * GIB}),
        second_card() | {"env": {"CUDA_VISIBLE_DEVICES": "2"}},
        id="the other card is busy, or the chosen one does not exist",
    ),
    pytest.param(
        "rtx6000-a",
        second_card(mig="Enabled", mig_devices=4),
        {"nvml.gpus.0.mig": "Enabled", "nvml.gpus.0.mig_devices": 2},
        id="MIG on the other card, or on this one",
    ),
    pytest.param(
        "rtx6000-a",
        {"nvml.gpus.0.compute_mode": "Exclusive_Process"},
        {"nvml.gpus.0.compute_mode": "Prohibited"},
        id="exclusive and free, or closed",
    ),
    pytest.param(
        "rtx6000-b",
        {"nvml.gpus.0.memory.used": VRAM - 92 * GIB},
        {"nvml.gpus.0.memory.used": VRAM - 70 * GIB},
        id="the bands of B",
    ),
]
"""(profile, what is healthy, what is not), each as changes to a healthy machine."""

WARNINGS = [
    pytest.param("spark", spark(112, 30, Dirty=20 * GIB_KB), "MEM.DIRTY", id="a copy that is not on disk yet"),
    pytest.param("spark", {"sysctl.vm:overcommit_memory": 2}, "MEM.OVERCOMMIT", id="strict accounting"),
    pytest.param("spark", spark(113) | tenant("VLLM::EngineCore", 0.2), "GPU.PROCESSES", id="an engine that sleeps"),
    pytest.param("spark", swap(16, 2), "MEM.SWAP", id="stale swap"),
    pytest.param("spark", {"fs.shm.size_bytes": 64 << 20}, "HOST.SHM", id="small shared memory"),
    pytest.param("spark", {"fs.model.fstype": "nfs4"}, "DISK.TYPE", id="a checkpoint on the network"),
    pytest.param("rtx6000-a", {"nvml.lost_gpus": [1]}, "GPU.PRESENT", id="a lost card that is not used"),
    pytest.param("rtx6000-a", {"fs.plane.fstype": "tmpfs"}, "DISK.TYPE", id="a cache in memory beside a card"),
]


@pytest.mark.parametrize(("profile", "well", "sick"), PAIRS)
def test_the_healthy_one_is_safe_and_its_twin_is_refused(
    profile: str, well: dict[str, Any], sick: dict[str, Any]
) -> None:
    found = judge(case_of(profile, well))
    assert [(f.id, f.measured) for f in (*found.refusals, *found.warnings) if f.id != "MEM.FREE"] == []
    assert judge(case_of(profile, sick)).level == "refuse"


@pytest.mark.parametrize(("profile", "changes", "id_"), WARNINGS)
def test_what_is_worth_a_word_is_one_warning_and_no_refusal(profile: str, changes: dict[str, Any], id_: str) -> None:
    found = judge(case_of(profile, changes))
    assert found.level == "warn"
    assert [f.id for f in found.warnings] == [id_]
