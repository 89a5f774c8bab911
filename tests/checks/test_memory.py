from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.checks.finding import Sight, Status
from moet_boot.checks.memory import available_bytes, is_cause, short_bytes
from tests.checks.cases import GIB_KB, GONE, case_of, judge_by, said

RANK = {Status.PASS: 0, Status.WARN: 1, Status.REFUSE: 2}


def with_available(gib: float) -> dict[str, Any]:
    return {"meminfo.MemAvailable": int(gib * GIB_KB), "meminfo.MemFree": int(min(gib, 100) * GIB_KB)}


@pytest.mark.parametrize(
    ("gib", "status"),
    [(116, "pass"), (108, "pass"), (107.9, "warn"), (105.1, "warn"), (103.9, "refuse"), (92, "refuse"), (1, "refuse")],
)
def test_the_bands_of_a_spark(gib: float, status: str) -> None:
    assert judge_by("MEM.AVAILABLE", case_of("spark", with_available(gib))).status == status


@pytest.mark.parametrize(("gib", "status"), [(54, "pass"), (24, "pass"), (20, "warn"), (12, "refuse")], ids=str)
def test_the_host_of_a_cached_rtx(gib: float, status: str) -> None:
    assert judge_by("MEM.AVAILABLE", case_of("rtx6000-a", with_available(gib))).status == status


def test_a_refusal_says_what_is_short_what_takes_it_and_what_to_wait_for() -> None:
    finding = judge_by("MEM.AVAILABLE", case_of("spark", with_available(38)))
    assert "38.00 gib available of 121.69 gib (memavailable): 66.40 gib short" in said(finding)
    assert "planes 72.56 gib" in said(finding)
    assert "wait until memavailable" in said(finding)
    assert "freezes" in finding.why


def test_a_refusal_names_the_processes_that_hold_most() -> None:
    sizes = {"a": 3 << 30, "b": 5 << 30, "c": 40 << 30, "d": 6 << 30, "e": 7 << 30}
    processes = [{"name": name, "pid": 7, "rss_bytes": size} for name, size in sizes.items()]
    finding = judge_by("MEM.AVAILABLE", case_of("spark", {**with_available(60), "processes": processes}))
    assert finding.measured.endswith("resident: c (pid 7, 40.00 GiB), e (pid 7, 7.00 GiB), d (pid 7, 6.00 GiB)")
    enough = judge_by("MEM.AVAILABLE", case_of("spark", {"processes": processes}))
    assert "resident" not in enough.measured


@pytest.mark.parametrize(("gib", "acceptable"), [(102, True), (100.5, True), (99, False), (10, False)])
def test_only_a_small_shortfall_can_be_accepted(gib: float, acceptable: bool) -> None:
    assert judge_by("MEM.AVAILABLE", case_of("spark", with_available(gib))).acceptable is acceptable


def test_a_machine_too_small_for_the_profile_is_told_so_at_once() -> None:
    finding = judge_by("MEM.AVAILABLE", case_of("spark", {"meminfo.MemTotal": 100 * GIB_KB, **with_available(99)}))
    assert finding.status is Status.REFUSE
    assert not finding.acceptable
    assert "profiles list" in finding.fix
    # 119.56 GiB is the smallest board in the reports
    assert judge_by("MEM.AVAILABLE", case_of("spark", {"meminfo.MemTotal": int(119.56 * GIB_KB)})).status == "pass"


def test_a_kernel_without_memavailable_is_a_blind_spot() -> None:
    case = case_of("spark", {"meminfo.MemAvailable": GONE})
    assert available_bytes(case) is None
    assert short_bytes(case) == 0
    assert judge_by("MEM.AVAILABLE", case).blind
    live = case_of("spark", {"meminfo.MemAvailable": GONE}, sight=Sight.LIVE)
    assert judge_by("MEM.AVAILABLE", live).status is Status.REFUSE


@pytest.mark.parametrize(
    ("available", "held", "cause"),
    [
        pytest.param(116, 90, False, id="nothing-is-missing"),
        pytest.param(100, 4, False, id="less-than-the-gap"),
        pytest.param(100, 5, True, id="covers-the-gap"),
        pytest.param(20, 9, False, id="a-small-part-of-a-large-gap"),
        pytest.param(20, 11, True, id="large-in-itself"),
    ],
)
def test_who_is_a_cause(available: float, held: float, cause: bool) -> None:
    assert is_cause(case_of("spark", with_available(available)), int(held * (1 << 30))) is cause


def test_nvml_used_memory_changes_nothing_on_unified_memory() -> None:
    """Some boxes answer with total == MemTotal and count page cache as used."""
    changes = {"nvml.gpus.0.memory": {"total": 127_600_748 * 1024, "used": 60 << 30}}
    assert judge_by("MEM.AVAILABLE", case_of("spark", changes)).status is Status.PASS
    assert judge_by("GPU.VRAM_FREE", case_of("spark", changes)).status is Status.SKIPPED


@pytest.mark.parametrize(
    ("free_gib", "status"), [(41.5, "pass"), (3.1, "pass"), (1.2, "warn")], ids=["cached", "at-the-limit", "full"]
)
def test_low_memfree_is_never_a_refusal(free_gib: float, status: str) -> None:
    changes = {"meminfo.MemFree": int(free_gib * GIB_KB), "meminfo.Cached": 60 * GIB_KB}
    assert judge_by("MEM.FREE", case_of("spark", changes)).status == status


def test_memfree_is_not_judged_where_the_gpu_has_its_own_memory() -> None:
    assert judge_by("MEM.FREE", case_of("rtx6000-a", {"meminfo.MemFree": 1000})).status is Status.SKIPPED


def copied(dirty_gib: float, writeback_gib: float = 0.0, available_gib: float = 112.0) -> dict[str, Any]:
    """Files were just copied: page cache that still waits for the disk."""
    return {
        "meminfo.MemFree": 30 * GIB_KB,
        "meminfo.MemAvailable": int(available_gib * GIB_KB),
        "meminfo.Cached": 80 * GIB_KB,
        "meminfo.Dirty": int(dirty_gib * GIB_KB),
        "meminfo.Writeback": int(writeback_gib * GIB_KB),
    }


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="nothing-waits"),
        pytest.param(copied(0.9, available_gib=104.5), "pass", id="next-to-nothing"),
        pytest.param(copied(7), "pass", id="enough-without-it"),
        pytest.param(copied(24), "warn", id="not-enough-without-it"),
        pytest.param(copied(1, 23), "warn", id="on-its-way-to-the-disk"),
        pytest.param(copied(24, available_gib=100), "pass", id="too-little-with-it-already"),
        pytest.param({"meminfo.MemAvailable": GONE}, "skipped", id="an-old-kernel"),
    ],
)
def test_cache_that_must_be_written_first(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.DIRTY", case_of("spark", changes))
    assert finding.status == status, finding
    if status == "warn":
        assert "24.00 gib of page cache" in said(finding)
        assert "88.00 gib available without it" in said(finding)
        assert "run sync" in said(finding)


def test_cache_that_must_be_written_is_no_matter_where_the_gpu_has_its_own_memory() -> None:
    assert judge_by("MEM.DIRTY", case_of("rtx6000-a", {"meminfo.Dirty": 24 * GIB_KB})).status is Status.SKIPPED


@pytest.mark.parametrize(("slab_gib", "named"), [(0.9, False), (15.0, True)])
def test_kernel_memory_is_named_when_memory_is_short(slab_gib: float, named: bool) -> None:
    changes = {"meminfo.MemAvailable": 98 * GIB_KB, "meminfo.SUnreclaim": int(slab_gib * GIB_KB)}
    finding = judge_by("MEM.AVAILABLE", case_of("spark", changes))
    assert finding.status is Status.REFUSE
    assert ("kernel memory that cannot be reclaimed: 15.00 GiB" in finding.measured) is named


def cold(available_gib: float, **more: Any) -> dict[str, Any]:
    total = max(int(available_gib * 1.2), 64)
    return {
        "meminfo.MemTotal": total * GIB_KB,
        "meminfo.MemAvailable": int(available_gib * GIB_KB),
        "files.0.complete": False,
        "files.1.complete": False,
        **more,
    }


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param(cold(54), "refuse", id="62-gib-host"),
        pytest.param(cold(63), "refuse", id="just-below-the-observation"),
        pytest.param(cold(64), "warn", id="enough-by-the-only-observation"),
        pytest.param(cold(150), "warn", id="below-what-the-code-adds-up-to"),
        pytest.param(cold(170), "pass", id="enough-by-the-code"),
        pytest.param(
            cold(54, **{"meminfo.SwapTotal": 64 * GIB_KB, "meminfo.SwapFree": 64 * GIB_KB}), "warn", id="with-swap"
        ),
        pytest.param(
            cold(54, swaps=[{"dev": "/s", "size_kb": 32 * GIB_KB, "used_kb": GIB_KB}]), "warn", id="with-swap-by-rows"
        ),
        pytest.param(
            cold(54, swaps=[{"dev": "/s", "size_kb": 32 * GIB_KB, "used_kb": 31 * GIB_KB}]), "refuse", id="swap-in-use"
        ),
        pytest.param({}, "pass", id="complete-caches"),
        pytest.param({"files.1.complete": False}, "pass", id="only-the-pack-is-missing"),
        pytest.param({"files.0.complete": False}, "refuse", id="only-the-cache-is-missing"),
        pytest.param(
            {"files.0.complete": False, "files.0.layers_present": 40, "files.0.layers_expected": 43},
            "pass",
            id="three-layers-miss",
        ),
        pytest.param(
            {"files.0.complete": False, "files.0.layers_present": 25, "files.0.layers_expected": 43},
            "refuse",
            id="eighteen-layers-miss",
        ),
    ],
)
def test_staging_in_host_ram(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MEM.TRANSIENT", case_of("rtx6000-a", changes))
    assert finding.status == status, finding


def test_staging_says_both_figures_and_the_ways_out() -> None:
    finding = judge_by("MEM.TRANSIENT", case_of("rtx6000-a", cold(54)))
    for words in ("host ram", "137.06 gib", "51 gib", "planes cache", "swap", "43 of 43 layers"):
        assert words in said(finding)


@pytest.mark.parametrize(("gib", "acceptable"), [(54, True), (40, False)])
def test_staging_can_be_accepted_down_to_what_was_observed(gib: float, acceptable: bool) -> None:
    assert judge_by("MEM.TRANSIENT", case_of("rtx6000-a", cold(gib))).acceptable is acceptable


def test_staging_that_nobody_looked_at_could_hide_a_freeze() -> None:
    assert judge_by("MEM.TRANSIENT", case_of("rtx6000-a", {"files": []})).blind
    live = case_of("rtx6000-a", {"files": []}, sight=Sight.LIVE, errors={"stores": "no answer in 15 s"})
    finding = judge_by("MEM.TRANSIENT", live)
    assert finding.status is Status.REFUSE
    assert "no answer in 15 s" in finding.measured
    assert judge_by("MEM.TRANSIENT", case_of("rtx6000-a", {"files": []}, sight=Sight.REHEARSED)).status == "skipped"


def test_staging_that_nobody_looked_at_is_harmless_where_all_of_it_would_fit() -> None:
    roomy = {"files": [], "meminfo.MemTotal": 128 * GIB_KB, "meminfo.MemAvailable": 100 * GIB_KB}
    finding = judge_by("MEM.TRANSIENT", case_of("rtx6000-a", roomy))
    assert (finding.status, finding.stops) == (Status.SKIPPED, False)
    live = judge_by("MEM.TRANSIENT", case_of("rtx6000-a", roomy, sight=Sight.LIVE))
    assert live.status is Status.WARN


def test_a_store_in_pinned_memory_counts_for_the_host() -> None:
    """DELTA on without STORE_DIR pins 129 GiB (planes.md f.5)."""
    case = case_of("rtx6000-a", sets=("VLLM_MOE_W2_STORE_DIR=",))
    assert judge_by("MEM.AVAILABLE", case).status is Status.REFUSE
    assert "resident_stores 129.00 gib" in said(judge_by("MEM.AVAILABLE", case))


@settings(deadline=None, max_examples=60)
@given(st.floats(0.1, 121), st.floats(0.1, 121))
def test_less_memory_never_improves_the_answer(one: float, other: float) -> None:
    low, high = sorted([one, other])
    answers = [judge_by("MEM.AVAILABLE", case_of("spark", with_available(gib))).status for gib in (low, high)]
    assert RANK[answers[0]] >= RANK[answers[1]]
