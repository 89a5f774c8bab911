import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.forecast import BootFacts, Forecast, forecast
from moet_boot.forecast.boot import DISCRETE_CONTEXT_BYTES, UNIFIED_CONTEXT_BYTES, floor_bytes
from moet_boot.forecast.facts import StoreFacts
from moet_boot.phases import Phase
from moet_boot.receipts.learned import MeasuredPeak
from moet_boot.units import from_gib, gib
from tests.checks.cases import plan_of, resolved

CARD = BootFacts(gpu_total_bytes=102_641_958_912)
VARIANTS = [("spark", None), ("spark", "mtp"), ("rtx6000-a", None), ("rtx6000-b", None), ("rtx6000-b", "mtp")]


def expect(profile: str, *sets: str, variant: str | None = None, facts: BootFacts = CARD) -> Forecast:
    return forecast(*plan_of(profile, variant, sets), facts)


def test_the_spark_adds_up_to_the_published_minimum() -> None:
    found = expect("spark")
    assert gib(found.host_required_bytes) == pytest.approx(104, abs=0.2)
    assert found.worst.phase is Phase.PLANES
    assert found.gpu_required_bytes == 0


def test_the_published_minimum_stands_where_the_parts_are_less() -> None:
    smaller = resolved("spark", None, ()).model_copy()
    budget = smaller.memory.model_copy(update={"terms": {"host_side": smaller.memory.terms["host_side"]}})
    found = forecast(smaller.model_copy(update={"memory": budget}), plan_of("spark")[1])
    assert found.host_required_bytes == from_gib(104)


@pytest.mark.parametrize(("profile", "host_gib", "gpu_gib"), [("rtx6000-a", 18.69, 95.09), ("rtx6000-b", 15.69, 91.26)])
def test_the_card_must_have_the_engines_share_and_the_host_one_layer(
    profile: str, host_gib: float, gpu_gib: float
) -> None:
    found = expect(profile)
    assert gib(found.host_required_bytes) == pytest.approx(host_gib, abs=0.01)
    assert gib(found.gpu_required_bytes) == pytest.approx(gpu_gib, abs=0.01)
    assert found.gpu_required_bytes == found.gpu_peak_bytes + DISCRETE_CONTEXT_BYTES


def test_the_demo_needs_what_its_processes_hold() -> None:
    assert gib(expect("demo").host_required_bytes) == pytest.approx(3.7)
    assert expect("demo").worst.phase is Phase.WARM_UP


def test_staging_comes_on_top_and_can_be_told_apart() -> None:
    facts = BootFacts(gpu_total_bytes=102_641_958_912, planes_cache=StoreFacts(complete=False))
    found = expect("rtx6000-a", facts=facts)
    assert found.staging is not None
    assert gib(found.staging.staged_bytes) == pytest.approx(137.0625)
    assert found.host_required_bytes - found.staging.staged_bytes == found.steady_host_bytes
    assert gib(found.steady_host_bytes) < 24
    assert gib(found.cpu_side_bytes) > 137


def test_a_share_of_unified_memory_is_admitted_or_refused_at_the_start() -> None:
    """Utilization is an admission test on a GB10: 0.92 of 121.69 GiB needs 111.96 (unified-memory.md 3.2)."""
    profile = resolved("spark", None, ())
    container = profile.container
    assert container is not None
    open_image = profile.model_copy(update={"container": container.model_copy(update={"pass_arguments": True})})
    from moet_boot.launch.plan import build_plan

    total = from_gib(121.69)
    plan = build_plan(open_image, extra=("--gpu-memory-utilization", "0.92"))
    found = forecast(open_image, plan, BootFacts(memory_total_bytes=total))
    assert found.host_required_bytes == round(total * 0.92) + UNIFIED_CONTEXT_BYTES


@pytest.mark.parametrize(
    ("phase", "gib_left"), [(Phase.STARTING, 8), (Phase.KV_CACHE, 8), (Phase.WARM_UP, 8), (Phase.SERVING, 4)]
)
def test_the_floor_drops_once_it_serves(phase: Phase, gib_left: float) -> None:
    assert floor_bytes(resolved("spark", None, ()).guard, phase) == from_gib(gib_left)


def test_a_floor_of_one_phase() -> None:
    guard = resolved("spark", None, ()).guard.model_copy(update={"phase_floors_gib": {Phase.PLANES: 10.0}})
    assert floor_bytes(guard, Phase.PLANES) == from_gib(10)
    assert floor_bytes(guard, Phase.PROFILING) == from_gib(8)


def peak(phase: Phase, host_gib: float, gpu_gib: float = 0) -> dict[Phase, MeasuredPeak]:
    return {phase: MeasuredPeak(phase, from_gib(host_gib), from_gib(gpu_gib), "r-1")}


def test_what_this_host_measured_corrects_upward() -> None:
    profile, plan = plan_of("spark")
    found = forecast(profile, plan, CARD, peak(Phase.GRAPH_CAPTURE, 104))
    by_phase = {p.phase: p for p in found.phases}
    assert by_phase[Phase.GRAPH_CAPTURE].source == "measured"
    assert by_phase[Phase.GRAPH_CAPTURE].total_bytes == from_gib(104)
    assert by_phase[Phase.PLANES].source == "model"
    assert found.host_required_bytes == from_gib(112)
    assert found.worst.phase is Phase.GRAPH_CAPTURE


def test_what_this_host_measured_never_corrects_downward() -> None:
    profile, plan = plan_of("spark")
    plain = forecast(profile, plan, CARD)
    assert forecast(profile, plan, CARD, peak(Phase.PLANES, 50)) == plain


def test_pools_are_corrected_apart_where_they_are_apart() -> None:
    profile, plan = plan_of("rtx6000-a")
    found = forecast(profile, plan, CARD, peak(Phase.PLANES, 30, 91))
    planes = next(p for p in found.phases if p.phase is Phase.PLANES)
    assert (planes.host_bytes, planes.gpu_bytes, planes.source) == (from_gib(30), from_gib(91), "measured")
    assert found.host_required_bytes == from_gib(38)


@pytest.mark.parametrize(("profile", "variant"), [*VARIANTS, ("demo", None)])
def test_every_phase_is_forecast_and_parts_add_up(profile: str, variant: str | None) -> None:
    found = expect(profile, variant=variant)
    assert [p.phase for p in found.phases] == list(Phase)
    for p in found.phases:
        held = [term for term in found.terms if term.held_in(p.phase)]
        assert sum(term.bytes for term in held) == p.total_bytes
    assert found.problems == ()


def test_mtp_takes_the_room_of_the_kv_cache() -> None:
    plain, mtp = expect("rtx6000-b"), expect("rtx6000-b", variant="mtp")
    assert plain.kv is not None
    assert mtp.kv is not None
    assert gib(plain.kv.bytes - mtp.kv.bytes) == pytest.approx(3.1875)


def test_problems_of_the_plan_are_kept() -> None:
    profile, plan = plan_of("rtx6000-b", extra=("--max-model-len", "no"))
    assert "--max-model-len is 'no'" in forecast(profile, plan).problems[0]


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(list(Phase)), st.floats(0, 120), st.floats(0, 120))
def test_a_higher_measurement_never_lowers_the_requirement(phase: Phase, one: float, other: float) -> None:
    low, high = sorted([one, other])
    profile, plan = plan_of("spark")
    needs = [forecast(profile, plan, CARD, peak(phase, gibs)).host_required_bytes for gibs in (low, high)]
    assert needs[0] <= needs[1]
    assert needs[0] >= forecast(profile, plan, CARD).host_required_bytes
