from dataclasses import replace
from typing import Any

import pytest

from moet_boot.checks.finding import Case, Sight, Status
from moet_boot.profile.model import GpuRequirement
from tests.checks.cases import GIB_KB, GONE, case_of, judge_by, said


@pytest.mark.parametrize(
    ("profile", "arch", "status"),
    [("spark", "aarch64", "pass"), ("spark", "x86_64", "refuse"), ("rtx6000-a", "aarch64", "refuse")],
)
def test_arch(profile: str, arch: str, status: str) -> None:
    finding = judge_by("HOST.ARCH", case_of(profile, {"arch": arch}))
    assert finding.status == status
    assert arch in finding.measured


def dev_shm(size: int, used: int = 0) -> dict[str, Any]:
    return {"fs.shm": {"path": "/dev/shm", "fstype": "tmpfs", "size_bytes": size, "used_bytes": used}}


@pytest.mark.parametrize(
    ("profile", "limits", "status"),
    [
        ("spark", {"memlock_bytes": 8 << 20, "ipc_lock": False}, "warn"),
        ("spark", {"memlock_bytes": 8 << 20, "ipc_lock": True}, "pass"),
        ("spark", {"memlock_bytes": None, "ipc_lock": False}, "pass"),
        ("spark", {"memlock_bytes": 256 << 20, "ipc_lock": False}, "pass"),
        ("spark", {"memlock_bytes": 8 << 20}, "skipped"),
        ("rtx6000-a", {"memlock_bytes": 8 << 20, "ipc_lock": False}, "skipped"),
    ],
    ids=["a container's default", "root", "unlimited", "enough", "not looked at", "a card with memory of its own"],
)
def test_the_guard_stays_in_memory(profile: str, limits: dict[str, Any], status: str) -> None:
    finding = judge_by("HOST.MEMLOCK", case_of(profile, {"limits": limits}))
    assert finding.status == status, finding
    assert ("--ulimit memlock=-1" in finding.fix) is (status == "warn")


@pytest.mark.parametrize(("sight", "status"), [(Sight.LIVE, "warn"), (Sight.REPLAYED, "skipped")])
def test_limits_that_were_not_read(sight: Sight, status: str) -> None:
    assert judge_by("HOST.MEMLOCK", case_of("spark", {"limits": GONE}, sight=sight)).status == status


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="as-usual"),
        pytest.param("spark", dev_shm(64 << 20), "warn", id="dockers-own-default"),
        pytest.param("spark", dev_shm(1 << 30), "pass", id="just-enough"),
        pytest.param("rtx6000-a", dev_shm(32 << 30, (31 << 30) + 1), "warn", id="full"),
        pytest.param("spark", {"fs.shm": GONE}, "skipped", id="not-looked-at"),
        pytest.param("spark", {"docker.run.ipc": "private"}, "warn", id="a-recorded-container-of-its-own"),
        pytest.param(
            "rtx6000-a",
            {"docker.run.ipc": "shareable", "docker.run.shm_bytes": 64 << 30},
            "pass",
            id="that-was-given-more",
        ),
        pytest.param("spark", {"docker.run.ipc": GONE}, "pass", id="its-ipc-is-not-known"),
        pytest.param("spark", {"fs.shm": {"path": "/dev/shm"}}, "skipped", id="size-not-read"),
        pytest.param("demo", dev_shm(64 << 20), "skipped", id="without-a-gpu"),
    ],
)
def test_room_in_shared_memory(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("HOST.SHM", case_of(profile, changes))
    assert finding.status == status, finding
    assert ("remount" in finding.fix) is (status == "warn")


def test_an_earlier_container_of_a_live_machine_decides_nothing() -> None:
    case = case_of("spark", {"docker.run.ipc": "private"}, sight=Sight.LIVE)
    assert judge_by("HOST.SHM", case).status is Status.PASS


def test_a_container_with_its_own_shared_memory_does_not_look_at_the_hosts() -> None:
    case = case_of("spark", dev_shm(64 << 20))
    assert case.plan.container is not None
    private = replace(case, plan=replace(case.plan, container=replace(case.plan.container, ipc="private")))
    assert judge_by("HOST.SHM", private).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({}, "pass", ["kernel 6.17.0-1026-nvidia"], id="quiet"),
        pytest.param({"kernel_log.nv_err_no_memory_since_boot": 55}, "pass", ["55 nv_err_no_memory"], id="55-lines"),
        pytest.param({"last_boot.clean_shutdown": False}, "warn", ["not clean"], id="unclean"),
        pytest.param({"last_boot.clean_shutdown": None}, "pass", [], id="not-known"),
        pytest.param({"kernel_log.oom_kill_since_boot": 2}, "warn", ["2 kills"], id="killed-before"),
        pytest.param({"kernel_log": None, "last_boot": None}, "pass", [], id="no-history"),
        pytest.param({"cmdline": "ro quiet amd_iommu=on"}, "pass", [], id="iommu-and-one-card"),
    ],
)
def test_kernel(changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("HOST.KERNEL", case_of("spark", changes))
    assert finding.status == status
    assert all(word in said(finding) for word in words)


def test_advice_for_several_gpus_is_given_to_several_gpus() -> None:
    assert "iommu" not in judge_by("HOST.KERNEL", case_of("spark", {"last_boot.clean_shutdown": False})).fix


def two_cards(case: Case) -> Case:
    hardware = case.profile.hardware
    assert isinstance(hardware.gpu, GpuRequirement)
    pair = hardware.model_copy(update={"gpu": hardware.gpu.model_copy(update={"count": 2})})
    return Case(case.profile.model_copy(update={"hardware": pair}), case.plan, case.snapshot, case.forecast)


@pytest.mark.parametrize(
    ("cmdline", "status"),
    [("quiet amd_iommu=on", "warn"), ("quiet intel_iommu=on iommu=pt", "pass"), ("quiet", "pass"), (None, "pass")],
)
def test_the_iommu_matters_for_two_cards(cmdline: str | None, status: str) -> None:
    assert judge_by("HOST.KERNEL", two_cards(case_of("rtx6000-b", {"cmdline": cmdline}))).status == status


@pytest.mark.parametrize(
    ("nofile", "hard", "status"),
    [
        pytest.param(4096, GONE, "pass", id="enough"),
        pytest.param(None, GONE, "pass", id="unlimited"),
        pytest.param(1024, GONE, "warn", id="hard-limit-not-recorded"),
        pytest.param(1024, 4096, "warn", id="the-engine-cannot-raise-it"),
        pytest.param(1024, 65_534, "warn", id="just-not"),
        pytest.param(1024, 65_535, "pass", id="the-engine-raises-it"),
        pytest.param(1024, "unlimited", "pass", id="a-usual-login"),
    ],
)
def test_limits_of_a_process(nofile: int | None, hard: Any, status: str) -> None:
    finding = judge_by("HOST.LIMITS", case_of("demo", {"limits.nofile": nofile, "limits.nofile_hard": hard}))
    assert finding.status == status, finding


def test_a_container_does_not_inherit_limits() -> None:
    assert judge_by("HOST.LIMITS", case_of("spark", {"limits": {"nofile": 10}})).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("rtx6000-a", {}, "pass", id="native"),
        pytest.param("rtx6000-a", {"os.wsl": True}, "refuse", id="wsl"),
        pytest.param("rtx6000-a", {"kernel": "6.6.87-microsoft-standard-WSL2"}, "pass", id="the-reader-decides"),
        pytest.param("spark", {"os.wsl": True}, "pass", id="allowed"),
        pytest.param("rtx6000-a", {"os": None}, "skipped", id="not-read"),
    ],
)
def test_wsl(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("HOST.WSL", case_of(profile, changes))
    assert finding.status == status
    if status == "refuse":
        assert "wsl2" in said(finding)
        assert "native linux" in finding.fix.lower()


def test_wsl_with_a_profile_that_only_warns() -> None:
    case = case_of("rtx6000-b", {"os.wsl": True})
    hardware = case.profile.hardware.model_copy(update={"wsl": "warn"})
    softer = Case(case.profile.model_copy(update={"hardware": hardware}), case.plan, case.snapshot, case.forecast)
    assert judge_by("HOST.WSL", softer).status is Status.WARN


def killers(*names_and_args: tuple[str, str | None]) -> dict[str, Any]:
    return {"processes": [{"name": name, "args": args, "pid": 5} for name, args in names_and_args]}


@pytest.mark.parametrize(
    ("profile", "changes", "status", "words"),
    [
        pytest.param("spark", {}, "pass", ["none that would act"], id="none"),
        pytest.param(
            "spark", killers(("earlyoom", "-m 10 -s 100")), "warn", ["earlyoom kills below 12.17 gib"], id="10"
        ),
        pytest.param("spark", killers(("earlyoom", "-m 5 -s 100")), "warn", ["6.08 gib"], id="above-the-serving-floor"),
        pytest.param("spark", killers(("earlyoom", "-m 2 -s 100")), "pass", ["earlyoom, below"], id="below-it"),
        pytest.param(
            "spark",
            {**killers(("earlyoom", None)), "meminfo.SwapTotal": 16 * GIB_KB, "meminfo.SwapFree": 16 * GIB_KB},
            "warn",
            ["once swap is used up"],
            id="waits-for-swap",
        ),
        pytest.param("spark", killers(("systemd-oomd", None)), "warn", ["limits that are not known"], id="oomd"),
        pytest.param("spark", killers(("dgx-anti-oom", None)), "warn", ["userspace killer"], id="dgx-anti-oom"),
        pytest.param("rtx6000-a", killers(("systemd-oomd", None)), "pass", [], id="oomd-beside-a-card"),
        pytest.param("rtx6000-a", killers(("earlyoom", "-m 10")), "pass", [], id="leaves-enough-host-ram"),
        pytest.param("rtx6000-a", killers(("earlyoom", "-m 80")), "warn", ["50.00 gib"], id="fires-in-the-boot"),
        pytest.param("spark", {"meminfo": None}, "skipped", [], id="no-meminfo"),
        pytest.param("spark", {"processes": None}, "skipped", [], id="no-processes"),
    ],
)
def test_other_killers(profile: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("HOST.KILLER", case_of(profile, changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(("year", "status"), [(2026, "pass"), (1970, "warn"), (GONE, "skipped")])
def test_clock(year: Any, status: str) -> None:
    assert judge_by("HOST.CLOCK", case_of("spark", {"clock.year": year})).status == status
