from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.launch.plan import Runtime
from moet_boot.phases import Phase
from moet_boot.receipts.learned import MeasuredPeak
from tests.checks.cases import GIB_KB, GONE, case_of, judge_by, said

GIB = 1 << 30
FRAGMENTED = [910_000, 640_000, 420_000, 260_000, 150_000, 98_000, 61_000, 36_000, 17_500, 6900, 1900, 310, 27, 0]
NO_LARGE_ORDERS = [910_000, 640_000, 420_000, 260_000, 150_000, 98_000, 61_000, 36_000]
AGED = {"uptime_s": 604_800, "vmstat.compact_fail": 1_350_000}
BUDDY = "buddyinfo.free_blocks_by_order"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="fresh"),
        pytest.param({BUDDY: FRAGMENTED, **AGED}, "refuse", id="no-large-block-after-a-week"),
        pytest.param({BUDDY: FRAGMENTED}, "warn", id="no-large-block-and-no-second-witness"),
        pytest.param({BUDDY: FRAGMENTED, **AGED, "uptime_s": 3600}, "warn", id="failed-compactions-but-just-booted"),
        pytest.param({BUDDY: FRAGMENTED, "uptime_s": 604_800}, "warn", id="a-week-but-compaction-works"),
        pytest.param({BUDDY: FRAGMENTED, **AGED, "vmstat": None}, "warn", id="no-witness-at-all"),
        pytest.param({BUDDY: FRAGMENTED, **AGED, "meminfo.MemFree": 9 * GIB_KB}, "warn", id="memory-is-just-in-use"),
        pytest.param({BUDDY: FRAGMENTED, "meminfo.MemFree": 9 * GIB_KB}, "pass", id="in-use-on-a-fresh-machine"),
        pytest.param({BUDDY: [0] * 12 + [400, 0]}, "pass", id="200-equivalents-in-16-mib"),
        pytest.param({BUDDY: [0] * 12 + [398, 0], **AGED}, "refuse", id="199-equivalents"),
        pytest.param({BUDDY: [0] * 13 + [200], **AGED}, "pass", id="200-of-32-mib"),
        pytest.param({BUDDY: [*NO_LARGE_ORDERS, 3909, 24, 24], **AGED}, "pass", id="4-mib-kernel-fresh"),
        pytest.param({BUDDY: [*NO_LARGE_ORDERS, 49, 0, 0], **AGED}, "warn", id="4-mib-kernel-in-pieces"),
        pytest.param(
            {BUDDY: [*NO_LARGE_ORDERS, 0, 0, 0], "meminfo.MemFree": 2 * GIB_KB}, "pass", id="4-mib-kernel-full-of-cache"
        ),
        pytest.param({BUDDY: [*[0] * 8, 400, 0], "buddyinfo.page_kb": 64, **AGED}, "pass", id="64-kib-pages"),
        pytest.param({BUDDY: [], **AGED}, "warn", id="no-orders-at-all"),
    ],
)
def test_contiguity(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.CONTIGUOUS", case_of("spark", changes))
    assert finding.status == status, finding
    if status in {"warn", "refuse"}:
        assert "fragment" in said(finding)


def test_contiguity_is_a_matter_of_unified_memory() -> None:
    assert judge_by("MEM.CONTIGUOUS", case_of("rtx6000-a")).measured.startswith("GPU and host do not share")


def swapped(used_gib: float) -> dict[str, Any]:
    used = int(used_gib * GIB_KB)
    return {
        "meminfo.SwapTotal": 16 * GIB_KB,
        "meminfo.SwapFree": 16 * GIB_KB - used,
        "swaps": [{"dev": "/swap.img", "type": "file", "size_kb": 16 * GIB_KB, "used_kb": used, "prio": -2}],
    }


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="no-swap"),
        pytest.param(swapped(0), "pass", id="unused"),
        pytest.param(swapped(0.5), "pass", id="a-little"),
        pytest.param(swapped(6), "warn", id="stale"),
        pytest.param({**swapped(12), "pressure.memory.full_avg10": 47.3}, "refuse", id="thrashing"),
        pytest.param({**swapped(12), "pressure": None, "vmstat.pgmajfault_per_s": 4200}, "refuse", id="without-psi"),
        pytest.param({**swapped(12), "pressure": None, "vmstat": None}, "warn", id="no-witness"),
        pytest.param({**swapped(12), "pressure.memory.full_avg10": 3.0}, "warn", id="some-pressure"),
        pytest.param({"swaps": swapped(12)["swaps"]}, "warn", id="only-the-rows-say-it"),
    ],
)
def test_swap(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.SWAP", case_of("spark", changes))
    assert finding.status == status
    assert "swap" in said(finding)


@pytest.mark.parametrize(
    ("full", "some", "status"),
    [(0, 0, "pass"), (9.9, 24, "pass"), (10, 12, "refuse"), (47.3, 71.2, "refuse"), (2, 40, "warn")],
)
@pytest.mark.parametrize("profile", ["spark", "rtx6000-b"])
def test_pressure(profile: str, full: float, some: float, status: str) -> None:
    changes = {"pressure.memory.full_avg10": full, "pressure.memory.some_avg10": some}
    assert judge_by("MEM.PRESSURE", case_of(profile, changes)).status == status


def test_a_kernel_without_psi_is_a_warning_on_a_live_machine() -> None:
    errors = {"pressure": "/proc/pressure/memory: No such file or directory"}
    live = judge_by("MEM.PRESSURE", case_of("spark", {"pressure": None}, sight=Sight.LIVE, errors=errors))
    assert live.status is Status.WARN
    assert "No such file" in live.measured
    assert judge_by("MEM.PRESSURE", case_of("spark", {"pressure.memory": None})).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("profile", "runtime", "changes", "status"),
    [
        pytest.param("spark", None, {}, "pass", id="no-limit"),
        pytest.param("spark", None, {"docker.run.memory_limit": 69 * GIB}, "warn", id="docker-false-comfort"),
        pytest.param("spark", None, {"cgroup.memory_max": 69 * GIB}, "warn", id="cgroup-false-comfort"),
        pytest.param("spark", None, {"cgroup.memory_high": 69 * GIB}, "warn", id="throttled"),
        pytest.param("spark", None, {"docker.run.memory_limit": 4 * GIB}, "refuse", id="kills-the-cpu-side"),
        pytest.param("spark", None, {"cgroup.memory_max": 4 * GIB}, "warn", id="the-shells-own-group"),
        pytest.param("rtx6000-a", None, {"docker.run.memory_limit": 32 * GIB}, "pass", id="rtx-enough"),
        pytest.param("rtx6000-a", None, {"docker.run.memory_limit": 8 * GIB}, "refuse", id="rtx-too-little"),
        pytest.param(
            "rtx6000-a",
            None,
            {"docker.run.memory_limit": 32 * GIB, "files.0.complete": False},
            "refuse",
            id="rtx-too-little-for-staging",
        ),
        pytest.param("demo", None, {"cgroup.memory_max": 8 * GIB}, "pass", id="demo-enough"),
        pytest.param("demo", None, {"cgroup.memory_max": 2 * GIB}, "refuse", id="demo-too-little"),
        pytest.param("demo", None, {"cgroup.memory_high": 2 * GIB}, "refuse", id="demo-throttled-to-death"),
        pytest.param("demo", None, {"docker": None}, "pass", id="nothing-known-of-docker"),
        pytest.param("spark", None, {"cgroup.memory_max": 9_223_372_036_854_771_712}, "pass", id="unlimited-in-v1"),
        pytest.param("spark", None, {"docker.run.memory_limit": 512 * GIB}, "pass", id="more-than-the-machine"),
        pytest.param("demo", None, {"cgroup.memory_max": 2 * GIB, "meminfo": None}, "refuse", id="of-any-machine"),
    ],
)
def test_cgroup_limits(profile: str, runtime: Runtime | None, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.CGROUP", case_of(profile, changes, runtime=runtime))
    assert finding.status == status, finding
    if status in {"warn", "refuse"}:
        assert "cgroup" in said(finding)
        assert "--memory" in said(finding)


def test_what_was_measured_on_unified_memory_is_not_taken_for_the_cpu_side() -> None:
    peak = {Phase.PLANES: MeasuredPeak(Phase.PLANES, 110 * GIB, 0, "r")}
    case = case_of("spark", {"docker.run.memory_limit": 69 * GIB}, peaks=peak)
    assert judge_by("MEM.CGROUP", case).status is Status.WARN


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="stock"),
        pytest.param({"sysctl.vm:min_free_kbytes": 524_288}, "pass", id="512-mib"),
        pytest.param({"sysctl.vm:min_free_kbytes": 1_048_576}, "warn", id="1-gib-and-room"),
        pytest.param(
            {"sysctl.vm:min_free_kbytes": 1_048_576, "meminfo.MemAvailable": 30 * GIB_KB},
            "warn",
            id="1-gib-is-not-why-70-are-missing",
        ),
        pytest.param(
            {"sysctl.vm:min_free_kbytes": 4_194_304, "meminfo.MemAvailable": 103_693_681}, "refuse", id="4-gib"
        ),
        pytest.param({"sysctl.vm:min_free_kbytes": 4_194_304}, "refuse", id="4-gib-and-a-boost-that-takes-9-more"),
        pytest.param(
            {"sysctl.vm:min_free_kbytes": 4_194_304, "sysctl.vm:watermark_boost_factor": 0}, "warn", id="no-boost"
        ),
    ],
)
def test_watermark(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.WATERMARK", case_of("spark", changes))
    assert finding.status == status, finding
    assert "min_free_kbytes" in said(finding)


@pytest.mark.parametrize("changes", [{"sysctl.vm:min_free_kbytes": GONE}, {"sysctl": None}])
def test_a_watermark_that_was_not_read_is_skipped(changes: dict[str, Any]) -> None:
    finding = judge_by("MEM.WATERMARK", case_of("spark", changes))
    assert (finding.status, finding.blind) == (Status.SKIPPED, False)


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="the-default"),
        pytest.param("spark", {"sysctl.vm:overcommit_memory": 1}, "pass", id="always"),
        pytest.param("spark", {"sysctl.vm:overcommit_memory": 2}, "warn", id="strict"),
        pytest.param("rtx6000-a", {"sysctl.vm:overcommit_memory": 2}, "warn", id="strict-beside-a-card"),
        pytest.param("spark", {"sysctl.vm:overcommit_memory": GONE}, "skipped", id="not-read"),
        pytest.param("demo", {"sysctl.vm:overcommit_memory": 2}, "skipped", id="without-a-gpu"),
    ],
)
def test_strict_accounting_of_memory(profile: str, changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.OVERCOMMIT", case_of(profile, changes))
    assert finding.status == status, finding
    assert ("swap and 50 %" in finding.why) is (status == "warn")


def test_the_share_that_strict_accounting_allows_is_told() -> None:
    strict = {"sysctl.vm:overcommit_memory": 2, "sysctl.vm:overcommit_ratio": 95}
    assert "swap and 95 %" in judge_by("MEM.OVERCOMMIT", case_of("spark", strict)).why
