from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.checks.gpu import needed
from tests.checks.cases import GONE, case_of, judge_by, said

SECOND = {
    "index": 1,
    "name": "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "cc": "12.0",
    "memory": {"total": 102_641_958_912, "used": 4_194_304},
    "integrated": False,
    "processes": [],
}


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({}, "pass", ["gpu 0"], id="there"),
        pytest.param(
            {"nvml.init": "LIB_RM_VERSION_MISMATCH", "nvml.gpus": []}, "refuse", ["reboot", "mismatch"], id="mismatch"
        ),
        pytest.param(
            {"nvml.init": "LIBRARY_NOT_FOUND", "nvml.gpus": []}, "refuse", ["install or load nvidia"], id="no-library"
        ),
        pytest.param({"nvml.init": "DRIVER_NOT_LOADED", "nvml.gpus": []}, "refuse", ["nvidia-smi"], id="not-loaded"),
        pytest.param({"nvml.gpus": []}, "refuse", ["none"], id="no-gpu"),
        pytest.param({"nvml.gpus.0.error": "GPU_IS_LOST"}, "refuse", ["gpu_is_lost", "reboot"], id="lost"),
        pytest.param({"nvml.lost_gpus": [0]}, "refuse", ["gpu 0 lost"], id="lost-by-list"),
        pytest.param({"nvml.lost_gpus": 1}, "refuse", ["1 gpus lost"], id="lost-by-number"),
        pytest.param({"nvml.lost_gpus": 0}, "pass", [], id="none-lost"),
        pytest.param({"nvml.lost_gpus": []}, "pass", [], id="none-lost-by-list"),
        pytest.param({"kernel_log.rm_init_adapter_failed": True}, "refuse", ["rminitadapter"], id="adapter"),
        pytest.param({"kernel_log.rm_init_adapter_failed": 0}, "pass", [], id="adapter-fine"),
        pytest.param({"kernel_log.xid": [79]}, "warn", ["xid 79"], id="fell-off-the-bus"),
        pytest.param({"kernel_log.xid": ["119", 13]}, "warn", ["xid 119 in"], id="gsp-timeout"),
        pytest.param({"kernel_log.xid": [13, 31, "?"]}, "pass", [], id="faults-of-applications"),
        pytest.param({"kernel_log": None}, "pass", [], id="no-log"),
    ],
)
def test_present(changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("GPU.PRESENT", case_of("spark", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("gpus", "lost", "status"),
    [
        ("device=0", [1], "warn"),
        ("device=1", [1], "refuse"),
        ("device=0", [0, 1], "refuse"),
        ("device=0", [], "pass"),
        ("all", [1], "refuse"),
    ],
)
def test_a_lost_gpu_counts_where_it_is_used(gpus: str, lost: list[int], status: str) -> None:
    case = case_of("rtx6000-b", {"nvml.gpus.1": SECOND, "nvml.lost_gpus": lost}, sets=(f"gpus={gpus}",))
    assert judge_by("GPU.PRESENT", case).status == status


def test_a_lost_gpu_that_is_not_used_matters_less() -> None:
    changes = {"nvml.gpus.1": {**SECOND, "error": "GPU_IS_LOST"}}
    assert judge_by("GPU.PRESENT", case_of("rtx6000-b", changes)).status is Status.PASS


def test_nvml_that_was_not_read_could_hide_a_freeze() -> None:
    assert judge_by("GPU.PRESENT", case_of("spark", {"nvml": None})).blind
    errors = {"nvml": "no answer in 20 s"}
    live = judge_by("GPU.PRESENT", case_of("spark", {"nvml": None}, sight=Sight.LIVE, errors=errors))
    assert live.status is Status.REFUSE
    assert "no answer in 20 s" in live.measured


@pytest.mark.parametrize(
    "id_",
    ["GPU.PRESENT", "GPU.COUNT", "GPU.MODEL", "GPU.DRIVER", "GPU.MODE", "GPU.KERNELS", "GPU.VRAM", "GPU.PROCESSES"],
)
def test_a_profile_without_gpu_asks_for_none(id_: str) -> None:
    assert judge_by(id_, case_of("demo")).status is Status.SKIPPED


@pytest.mark.parametrize(
    "id_", ["GPU.COUNT", "GPU.MODEL", "GPU.DRIVER", "GPU.MODE", "GPU.KERNELS", "GPU.VRAM_FREE", "GPU.PROCESSES"]
)
@pytest.mark.parametrize("profile", ["spark", "rtx6000-a"])
def test_a_gpu_that_does_not_answer_is_one_refusal_and_no_pass(id_: str, profile: str) -> None:
    case = case_of(profile, {"nvml": {"init": "LIBRARY_NOT_FOUND"}}, sight=Sight.LIVE)
    assert judge_by(id_, case).status is Status.SKIPPED


def test_the_requirement_is_only_for_profiles_that_have_one() -> None:
    with pytest.raises(ValueError, match="needs no GPU"):
        needed(case_of("demo"))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="two-cards-one-needed"),
        pytest.param({"env": {"CUDA_VISIBLE_DEVICES": "1"}}, "pass", id="the-other-one"),
        pytest.param({"nvml.gpus": []}, "pass", id="the-container-gets-device-0-even-if-it-is-not-there"),
        pytest.param({"docker.run.gpus": "device=GPU-abc"}, "skipped", id="by-uuid"),
    ],
)
def test_count(changes: dict[str, Any], status: str) -> None:
    assert judge_by("GPU.COUNT", case_of("rtx6000-b", changes)).status == status


def test_a_container_without_gpu_is_too_few() -> None:
    finding = judge_by("GPU.COUNT", case_of("rtx6000-b", sets=("gpus=none",)))
    assert finding.status is Status.REFUSE
    assert "no gpu" in said(finding)
    assert judge_by("GPU.PRESENT", case_of("rtx6000-b", sets=("gpus=none",))).status is Status.REFUSE


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="gb10"),
        pytest.param("spark", {"nvml.gpus.0.integrated": None}, "pass", id="integrated-not-known"),
        pytest.param("spark", {"nvml.gpus.0.cc": "12.0", "nvml.gpus.0.name": "RTX 5090"}, "refuse", id="other-cc"),
        pytest.param("spark", {"nvml.gpus.0.integrated": False}, "refuse", id="not-unified"),
        pytest.param("spark", {"nvml.gpus.0.name": "NVIDIA N1X"}, "warn", id="same-cc-other-name"),
        pytest.param("spark", {"nvml.gpus.0.cc": GONE}, "pass", id="only-the-name"),
        pytest.param("rtx6000-a", {}, "pass", id="rtx"),
        pytest.param("rtx6000-a", {"nvml.gpus.0.name": "NVIDIA GeForce RTX 5090"}, "warn", id="5090"),
        pytest.param("rtx6000-a", {"nvml.gpus.0.cc": "9.0", "nvml.gpus.0.name": "NVIDIA H200"}, "refuse", id="h200"),
        pytest.param("rtx6000-a", {"nvml.gpus": []}, "skipped", id="no-gpu"),
    ],
)
def test_model(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("GPU.MODEL", case_of(profile, changes))
    assert finding.status == status
    if status == "refuse":
        assert "profiles list" in finding.fix


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="595"),
        pytest.param({"nvml.driver": "580.95.05"}, "pass", id="580"),
        pytest.param({"nvml.driver": "579.99"}, "refuse", id="579"),
        pytest.param({"nvml.driver": "570.211.01", "nvml.cuda_driver": "12.8"}, "refuse", id="570"),
        pytest.param({"nvml.driver": "580.95.05", "nvml.cuda_driver": "12.8"}, "pass", id="the-branch-decides"),
        pytest.param({"nvml.driver": GONE, "nvml.cuda_driver": "13.0"}, "pass", id="only-its-cuda"),
        pytest.param({"nvml.driver": GONE, "nvml.cuda_driver": "12.9"}, "refuse", id="only-its-older-cuda"),
        pytest.param({"nvml.driver": GONE, "nvml.cuda_driver": GONE}, "skipped", id="nothing-known"),
        pytest.param({"docker.image.cuda_toolkit": GONE}, "pass", id="toolkit-not-known"),
        pytest.param({"nvml.module_flavour": "proprietary"}, "warn", id="proprietary-on-blackwell"),
        pytest.param({"nvml.module_flavour": "proprietary", "nvml.gpus.0.cc": "9.0"}, "pass", id="on-hopper"),
    ],
)
def test_driver(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("GPU.DRIVER", case_of("rtx6000-b", changes))
    assert finding.status == status, finding
    if status == "refuse":
        assert "driver of branch r580" in said(finding)


@pytest.mark.parametrize(
    ("toolkit", "driver", "status"),
    [
        pytest.param("12.8", "570.211.01", "pass", id="an-image-of-cuda-12"),
        pytest.param("12.8", "565.57", "refuse", id="too-old-for-blackwell"),
        pytest.param(None, "570.211.01", "refuse", id="the-profile-stands-for-an-image-that-does-not-say"),
        pytest.param("14.0", "580.95.05", "pass", id="a-cuda-that-nobody-knows-yet"),
    ],
)
def test_the_images_own_toolkit_decides(toolkit: str | None, driver: str, status: str) -> None:
    changes = {"docker.image.cuda_toolkit": toolkit, "nvml.driver": driver}
    assert judge_by("GPU.DRIVER", case_of("rtx6000-b", changes)).status == status


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({}, "pass", [], id="default"),
        pytest.param({"nvml.gpus.0.mig": "N/A", "nvml.gpus.0.compute_mode": GONE}, "pass", [], id="not-known"),
        pytest.param({"nvml.gpus.0.mig": "Enabled"}, "refuse", ["-mig 0"], id="mig"),
        pytest.param({"nvml.gpus.0.mig_devices": 2}, "refuse", ["2 instances"], id="mig-devices"),
        pytest.param({"nvml.gpus.0.compute_mode": "Prohibited"}, "refuse", ["-c default"], id="prohibited"),
        pytest.param({"nvml.gpus.0.compute_mode": "Exclusive_Process"}, "pass", [], id="exclusive-and-free"),
        pytest.param(
            {"nvml.gpus.0.compute_mode": "EXCLUSIVE_PROCESS", "nvml.gpus.0.processes": [{"pid": 3, "name": "x"}]},
            "refuse",
            ["exclusive"],
            id="exclusive-and-taken",
        ),
        pytest.param(
            {
                "nvml.gpus.0.compute_mode": "Exclusive_Process",
                "nvml.gpus.0.processes": [{"pid": 3, "name": "/usr/lib/xorg/Xorg"}],
            },
            "pass",
            [],
            id="exclusive-and-a-display",
        ),
        pytest.param(
            {
                "nvml.gpus.0.utilization_pct": 96,
                "nvml.gpus.0.power_w": 10,
                "nvml.gpus.0.processes": [{"pid": 3, "name": "x", "kind": "graphics"}],
            },
            "warn",
            ["reboot"],
            id="hangs-beside-a-display",
        ),
        pytest.param({"nvml.gpus.0.throttle": ["HW_THERMAL_SLOWDOWN"]}, "warn", ["cooling"], id="hot"),
        pytest.param({"nvml.gpus.0.throttle": ["HW_SLOWDOWN"]}, "warn", ["hw_slowdown"], id="slowed"),
        pytest.param({"nvml.gpus.0.temp_c": 88}, "warn", ["88 c"], id="88-degrees"),
        pytest.param({"nvml.gpus.0.utilization_pct": 96, "nvml.gpus.0.power_w": 10}, "warn", ["reboot"], id="hangs"),
        pytest.param({"nvml.gpus.0.utilization_pct": 96, "nvml.gpus.0.power_w": 300}, "pass", [], id="works"),
        pytest.param({"nvml.gpus.0.utilization_pct": 96, "nvml.gpus.0.power_w": None}, "pass", [], id="power-unknown"),
        pytest.param({"nvml.gpus.0.throttle": ["SW_POWER_CAP", "GPU_IDLE"]}, "pass", [], id="idle"),
        pytest.param({"nvml.gpus": []}, "skipped", [], id="no-gpu"),
    ],
)
def test_mode(changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("GPU.MODE", case_of("rtx6000-a", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words)


@pytest.mark.parametrize(
    ("archs", "status"),
    [
        (["12.1a"], "pass"),
        (["9.0a", "10.0a", "12.0a"], "refuse"),
        (["12.0"], "pass"),
        (["12.0f"], "pass"),
        (["9.0+PTX"], "pass"),
        ([], "skipped"),
        (None, "skipped"),
    ],
)
def test_kernels(archs: list[str] | None, status: str) -> None:
    finding = judge_by("GPU.KERNELS", case_of("spark", {"docker.image.cuda_archs": archs}))
    assert finding.status == status
    if status == "refuse":
        assert "sm_121" in said(finding)
        assert "capability 12.1" in said(finding)
