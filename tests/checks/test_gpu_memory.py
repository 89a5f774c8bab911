from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from tests.checks.cases import GIB_KB, GONE, case_of, judge_by, said

GIB = 1 << 30
TOTAL = 102_641_958_912


def used(gib: float, *processes: dict[str, Any]) -> dict[str, Any]:
    return {"nvml.gpus.0.memory.used": int(gib * GIB), "nvml.gpus.0.processes": list(processes)}


def process(name: str, gib: float, pid: int = 70_112) -> dict[str, Any]:
    return {"pid": pid, "name": name, "used": int(gib * GIB), "alive": True}


@pytest.mark.parametrize(
    ("profile", "changes", "sets", "status", "words"),
    [
        pytest.param("rtx6000-a", {}, (), "pass", [], id="as-published"),
        pytest.param("rtx6000-b", {}, (), "pass", [], id="b-as-published"),
        pytest.param("rtx6000-a", {"nvml.gpus.0.memory.total": int(94 * GIB)}, (), "warn", ["95.00 gib"], id="94"),
        pytest.param("rtx6000-a", {"nvml.gpus.0.memory.total": 32 * GIB}, (), "refuse", [], id="a-card-of-32-gib"),
        pytest.param(
            "rtx6000-b",
            {},
            ("gpu-memory-utilization=0.8",),
            "refuse",
            ["left for the kv cache"],
            id="too-small-a-share",
        ),
        pytest.param("rtx6000-a", {}, ("VLLM_MOE_W2=0",), "refuse", [], id="without-the-2-bit-path"),
        pytest.param("rtx6000-a", {"nvml.gpus": []}, (), "skipped", [], id="no-gpu"),
        pytest.param("rtx6000-a", {"nvml.gpus.0.memory": {"error": "UNKNOWN"}}, (), "skipped", [], id="not-read"),
        pytest.param("spark", {}, (), "skipped", ["one pool"], id="unified"),
    ],
)
def test_the_whole_card(
    profile: str, changes: dict[str, Any], sets: tuple[str, ...], status: str, words: list[str]
) -> None:
    finding = judge_by("GPU.VRAM", case_of(profile, changes, sets=sets))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("profile", "gib", "status"),
    [
        pytest.param("rtx6000-a", 0.004, "pass", id="a-empty"),
        pytest.param("rtx6000-a", 0.5, "pass", id="a-a-few-hundred-mib"),
        pytest.param("rtx6000-a", 1.86, "refuse", id="a-two-gib"),
        pytest.param("rtx6000-a", 89, "refuse", id="a-orphan"),
        pytest.param("rtx6000-b", 3.59, "pass", id="b-92-gib-free"),
        pytest.param("rtx6000-b", 25.6, "refuse", id="b-70-gib-free"),
    ],
)
def test_the_bands_of_free_vram(profile: str, gib: float, status: str) -> None:
    assert judge_by("GPU.VRAM_FREE", case_of(profile, used(gib))).status == status


def test_an_orphan_is_named_on_its_card() -> None:
    finding = judge_by("GPU.VRAM_FREE", case_of("rtx6000-a", used(89.1, process("VLLM::EngineCore", 89))))
    assert "gpu 0: 6.49 gib free of 95.59 gib" in said(finding)
    assert "vllm::enginecore (pid 70112" in said(finding)
    assert "cuda_visible_devices" not in said(finding)
    assert not finding.acceptable


def test_memory_without_a_process_takes_a_reset() -> None:
    finding = judge_by("GPU.VRAM_FREE", case_of("rtx6000-a", used(40)))
    assert "no live process" in finding.measured
    assert "nvidia-smi -r" in finding.fix


def test_memory_of_a_container_that_just_stopped_comes_back() -> None:
    exited = {"docker.recently_exited": [{"name": "old", "gpu": True, "seconds_ago": 40}]}
    finding = judge_by("GPU.VRAM_FREE", case_of("rtx6000-a", {**used(40), **exited}))
    assert "wait until the driver has released what container old held" in finding.fix


def test_only_a_small_shortfall_can_be_accepted() -> None:
    assert judge_by("GPU.VRAM_FREE", case_of("rtx6000-a", used(1.2))).acceptable
    assert not judge_by("GPU.VRAM_FREE", case_of("rtx6000-a", used(5))).acceptable


BUSY = used(60, process("python3", 59.5, 5120))


@pytest.mark.parametrize(
    ("changes", "sets", "status"),
    [
        pytest.param({}, (), "refuse", id="the-profiles-card-is-busy"),
        pytest.param({"env": {"CUDA_VISIBLE_DEVICES": "0"}}, (), "refuse", id="the-busy-one-by-name"),
        pytest.param({"env": {"CUDA_VISIBLE_DEVICES": "1"}}, (), "pass", id="the-free-one-by-environment"),
        pytest.param({"env": {"CUDA_VISIBLE_DEVICES": "1,0"}}, (), "pass", id="the-free-one-first"),
        pytest.param({"docker.run.gpus": "device=1"}, (), "pass", id="the-free-one-by-docker"),
        pytest.param({"docker.run.gpus": '"device=1"'}, (), "pass", id="the-free-one-quoted"),
        pytest.param({}, ("gpus=device=1",), "pass", id="the-free-one-by-set"),
        pytest.param({"docker.run.gpus": "device=1"}, ("gpus=0",), "refuse", id="set-wins"),
    ],
)
def test_the_card_that_will_be_used_is_judged(changes: dict[str, Any], sets: tuple[str, ...], status: str) -> None:
    case = case_of("rtx6000-b", {**BUSY, **changes}, sets=sets)
    assert judge_by("GPU.VRAM_FREE", case).status == status
    assert judge_by("GPU.PROCESSES", case).status == status


def test_the_free_card_is_named() -> None:
    finding = judge_by("GPU.VRAM_FREE", case_of("rtx6000-b", BUSY))
    assert "use GPU 1, which is free: CUDA_VISIBLE_DEVICES=1" in finding.fix
    both = {**BUSY, "nvml.gpus.1.memory.used": 60 * GIB}
    assert "which is free" not in judge_by("GPU.VRAM_FREE", case_of("rtx6000-b", both)).fix


def test_on_a_live_machine_an_earlier_containers_card_decides_nothing() -> None:
    case = case_of("rtx6000-b", {**BUSY, "docker.run.gpus": "device=1"}, sight=Sight.LIVE)
    assert judge_by("GPU.VRAM_FREE", case).status is Status.REFUSE


def test_vram_that_cannot_be_read() -> None:
    case = case_of("rtx6000-a", {"nvml.gpus.0.memory": {"error": "NOT_SUPPORTED"}}, sight=Sight.LIVE)
    assert judge_by("GPU.VRAM_FREE", case).status is Status.WARN


SHORT = {"meminfo.MemAvailable": 31 * GIB_KB, "meminfo.MemFree": 15 * GIB_KB}


@pytest.mark.parametrize(
    ("profile", "changes", "status", "words"),
    [
        pytest.param("spark", {}, "pass", ["no gpu process"], id="nobody"),
        pytest.param(
            "spark",
            {"nvml.gpus.0.processes": [process("/usr/lib/xorg/Xorg", 0.02), process("gnome-shell", 0.04)]},
            "pass",
            ["2 small processes"],
            id="a-desktop",
        ),
        pytest.param(
            "spark",
            {"nvml.gpus.0.processes": [process("VLLM::EngineCore", 81)], **SHORT},
            "refuse",
            ["vllm::enginecore (pid 70112", "memavailable at"],
            id="a-cotenant-that-takes-it-all",
        ),
        pytest.param(
            "spark",
            {"nvml.gpus.0.processes": [process("python3", 1.5)]},
            "warn",
            ["same pool"],
            id="a-cotenant-that-leaves-enough",
        ),
        pytest.param(
            "spark",
            {"nvml.gpus.0.processes": [process("python3", 1.5)], **SHORT},
            "warn",
            ["python3"],
            id="a-small-cotenant-is-not-the-cause",
        ),
        pytest.param("rtx6000-a", used(89, process("python3", 89)), "refuse", ["kill 70112"], id="an-orphan"),
        pytest.param("rtx6000-b", used(2, process("python3", 2)), "warn", [], id="b-with-room"),
        pytest.param(
            "rtx6000-b",
            {"nvml.gpus.1.processes": [process("python3", 80)], "nvml.gpus.1.memory.used": 80 * GIB},
            "pass",
            [],
            id="on-the-other-card",
        ),
    ],
)
def test_tenants(profile: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("GPU.PROCESSES", case_of(profile, changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


def test_a_tenant_whose_room_cannot_be_told_is_refused() -> None:
    tenant = {"nvml.gpus.0.processes": [process("python3", 3)]}
    assert judge_by("GPU.PROCESSES", case_of("spark", {**tenant, "meminfo.MemAvailable": GONE})).status == "refuse"
    unread = {**tenant, "nvml.gpus.0.memory": {"error": "UNKNOWN"}}
    assert judge_by("GPU.PROCESSES", case_of("rtx6000-b", unread)).status == "refuse"


@pytest.mark.parametrize("sight", [Sight.REPLAYED, Sight.LIVE])
def test_a_card_that_does_not_tell_its_memory_is_a_warning(sight: Sight) -> None:
    case = case_of("rtx6000-b", {"nvml.gpus.0.memory": {"error": "UNKNOWN"}}, sight=sight)
    finding = judge_by("GPU.VRAM_FREE", case)
    assert finding.status is Status.WARN
    assert "nvml says unknown" in said(finding)


@pytest.mark.parametrize("profile", ["spark", "rtx6000-a"])
def test_an_empty_list_of_a_gpu_that_lists_nothing_says_nothing(profile: str) -> None:
    silent = judge_by("GPU.PROCESSES", case_of(profile, {"nvml.gpus.0.processes_error": "NOT_SUPPORTED"}))
    assert silent.status is Status.WARN
    assert "GPU 0 does not list its processes (NOT_SUPPORTED)" in silent.measured
