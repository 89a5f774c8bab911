from typing import Any

import pytest

from moet_boot.checks.finding import Status
from tests.checks.cases import GIB_KB, GONE, case_of, judge_by, said


def taken(gib: float, *, available: float | None = None) -> dict[str, Any]:
    """The spark of the field cases (2.4 GiB residual) with `gib` more in nobody's name."""
    free = 114_189_926 - int(gib * GIB_KB)
    seen = free + 4_376_442 if available is None else int(available * GIB_KB)
    return {"meminfo.MemFree": free, "meminfo.MemAvailable": seen}


def process(pid: int, name: str, gib: float | None, *, alive: bool = True) -> dict[str, Any]:
    return {"pid": pid, "name": name, "used": None if gib is None else int(gib * (1 << 30)), "alive": alive}


EXITED = {"name": "vllm-prev", "exit_code": 0, "gpu": True}


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({}, "pass", ["2.39 gib unaccounted"], id="idle"),
        pytest.param(taken(2), "pass", ["4.39 gib"], id="idle-and-a-little"),
        pytest.param(taken(83), "refuse", ["reboot", "driver", "trapped"], id="trapped"),
        pytest.param(taken(40), "refuse", ["reboot"], id="half-trapped"),
        pytest.param(taken(4, available=109), "warn", ["not what keeps"], id="a-small-leak-that-leaves-enough"),
        pytest.param(taken(4, available=50), "warn", ["not what keeps"], id="a-small-leak-beside-a-large-gap"),
        pytest.param(taken(4, available=100), "refuse", ["reboot"], id="a-small-leak-that-makes-the-difference"),
        pytest.param(
            {**taken(83), "nvml.gpus.0.processes": [process(2, "Xorg", 0.02)]}, "refuse", ["reboot"], id="display-only"
        ),
        pytest.param(
            {**taken(104), "nvml.gpus.0.processes": [process(9, "VLLM::EngineCore", 101.8)]},
            "pass",
            [],
            id="all-in-a-processes-name",
        ),
        pytest.param(
            {**taken(92), "nvml.gpus.0.processes": [process(9, "python3", 80)]},
            "warn",
            ["python3 (pid 9", "end it"],
            id="more-than-the-tenant-shows",
        ),
        pytest.param(
            {**taken(60), "nvml.gpus.0.processes": [process(9, "python3", None)]},
            "warn",
            ["python3 (pid 9"],
            id="a-tenant-without-figures",
        ),
        pytest.param(
            {**taken(90), "nvml.gpus.0.processes": [process(9, "VLLM::EngineCore", 90, alive=False)]},
            "refuse",
            ["reboot"],
            id="a-dead-process-answers-for-nothing",
        ),
        pytest.param(
            {**taken(90), "processes": [{"name": "VLLM::EngineCor", "pid": 77}]},
            "warn",
            ["vllm::enginecor (pid 77)"],
            id="an-orphan-that-only-the-host-sees",
        ),
        pytest.param(
            {**taken(76), "docker.recently_exited": [{**EXITED, "seconds_ago": 150}]},
            "refuse",
            ["wait", "vllm-prev exited 150 s ago", "memavailable"],
            id="just-stopped",
        ),
        pytest.param(
            {**taken(76), "docker.recently_exited": [{**EXITED, "seconds_ago": 5000}]},
            "refuse",
            ["reboot; nothing less"],
            id="stopped-long-ago",
        ),
        pytest.param(
            {**taken(76), "docker.recently_exited": [{**EXITED, "seconds_ago": 20, "gpu": False}]},
            "refuse",
            ["reboot; nothing less"],
            id="what-stopped-had-no-gpu",
        ),
        pytest.param(
            {"docker.recently_exited": [{**EXITED, "seconds_ago": 100}]}, "pass", [], id="stopped-and-memory-is-back"
        ),
        pytest.param(
            {**taken(83), "nvml.gpus.0.utilization_pct": 96, "nvml.gpus.0.power_w": 10},
            "refuse",
            ["96 % at 10 w: it hangs"],
            id="and-the-gpu-hangs",
        ),
        pytest.param({**taken(83), "nvml": None}, "refuse", ["reboot"], id="without-nvml"),
    ],
)
def test_memory_in_nobodys_name(changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("MEM.HELD", case_of("spark", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({"meminfo.CmaFree": 940_604, **taken(22.4)}, "refuse", id="and-memory-is-withheld"),
        pytest.param({"meminfo.CmaFree": 9 * GIB_KB}, "warn", id="and-nothing-is-missing-yet"),
        pytest.param({"meminfo.CmaFree": 100, "meminfo.CmaTotal": 65_536}, "pass", id="cma-as-it-should-be"),
        pytest.param({"meminfo.CmaFree": 65_537, "meminfo.CmaTotal": 65_536}, "warn", id="more-free-than-total"),
        pytest.param({"meminfo.CmaFree": GONE, "meminfo.CmaTotal": GONE}, "pass", id="a-kernel-without-cma"),
    ],
)
def test_cma_that_contradicts_itself(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.HELD", case_of("spark", changes))
    assert finding.status == status
    if status != "pass":
        assert "kho=off" in finding.fix
        assert "cmafree" in said(finding)


def test_driver_memory_is_not_looked_for_where_the_card_has_its_own() -> None:
    assert judge_by("MEM.HELD", case_of("rtx6000-a")).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="none"),
        pytest.param(
            "spark",
            {"meminfo.HugePages_Total": 32768, "meminfo.HugePages_Free": 32768, **taken(64)},
            "refuse",
            id="64-gib",
        ),
        pytest.param("spark", {"meminfo.HugePages_Total": 512, **taken(1)}, "warn", id="1-gib-that-leaves-enough"),
        pytest.param("spark", {"meminfo.Hugetlb": 64 * GIB_KB, **taken(64)}, "refuse", id="pools-of-other-page-sizes"),
        pytest.param("rtx6000-a", {"meminfo.HugePages_Total": 512}, "pass", id="beside-a-card-of-its-own"),
        pytest.param(
            "rtx6000-a",
            {"meminfo.HugePages_Total": 20_000, "meminfo.MemAvailable": 10 * GIB_KB},
            "refuse",
            id="host-ram-short",
        ),
    ],
)
def test_huge_pages(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.HUGETLB", case_of(profile, changes))
    assert finding.status == status
    if status in {"warn", "refuse"}:
        assert "vm.nr_hugepages=0" in finding.fix


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="small"),
        pytest.param("spark", {"meminfo.Shmem": 40_055_603, **taken(38)}, "refuse", id="38-gib-of-dead-segments"),
        pytest.param("spark", {"meminfo.Shmem": 3 * GIB_KB}, "warn", id="3-gib-that-leave-enough"),
        pytest.param("spark", {"meminfo.Shmem": 3 * GIB_KB, **taken(60)}, "warn", id="3-gib-are-not-the-cause"),
        pytest.param("rtx6000-a", {"meminfo.Shmem": 3 * GIB_KB}, "pass", id="beside-a-card-of-its-own"),
        pytest.param(
            "rtx6000-a", {"meminfo.Shmem": 40 * GIB_KB, "meminfo.MemAvailable": 9 * GIB_KB}, "refuse", id="host-short"
        ),
    ],
)
def test_shared_memory(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.SHMEM", case_of(profile, changes))
    assert finding.status == status
    assert "/dev/shm" in said(finding)


def test_shared_memory_without_a_look_at_dev_shm() -> None:
    assert "in /dev/shm" not in judge_by("MEM.SHMEM", case_of("spark", {"fs.shm": GONE})).measured


def test_what_a_gpu_does_not_list_is_not_called_trapped() -> None:
    changes = {**taken(60), "nvml.gpus.0.processes_error": "NOT_SUPPORTED"}
    held = judge_by("MEM.HELD", case_of("spark", changes))
    assert (held.status, "does not list its processes" in held.measured) == (Status.WARN, True)
    assert "reboot; nothing less" not in held.fix
    assert judge_by("MEM.AVAILABLE", case_of("spark", changes)).status is Status.REFUSE
