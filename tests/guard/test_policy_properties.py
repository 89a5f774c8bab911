"""What holds for every course of memory, not only for those that somebody recorded."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.guard.policy import State, decide
from moet_boot.guard.sample import Action, Context, Sample
from moet_boot.guard.sampler import next_look_s
from moet_boot.phases import Phase
from moet_boot.units import GIB, MIB, from_gib
from tests.guard.scenes import SPARK, look, run

LABELS = st.sampled_from(["load", "graph_capture", "serving"])
"""Without a label the first look decides what is taken to be running: less memory there is another case."""
GAPS = st.sampled_from([0.004, 0.05, 0.1, 0.25, 1.0, 2.0])
LEVELS = st.lists(st.floats(0, 40), min_size=2, max_size=40)


def at(levels: list[float], gap_s: float, label: str) -> float:
    """When the policy ends the server; infinity for never."""
    result = run([look(i * gap_s, level) for i, level in enumerate(levels)], label=label)
    return result.at_s if result.action is Action.KILL and result.at_s is not None else float("inf")


@given(LEVELS, GAPS, LABELS, st.floats(0, 10))
def test_less_memory_all_along_never_acts_later(levels: list[float], gap_s: float, label: str, less: float) -> None:
    lower = [max(0.0, level - less) for level in levels]
    # clipped at zero a course gets flatter, but then it is below every floor
    assert at(lower, gap_s, label) <= at(levels, gap_s, label)


@given(LEVELS, GAPS, LABELS, st.floats(0, 10), st.data())
def test_less_memory_from_some_moment_on_never_acts_later(
    levels: list[float], gap_s: float, label: str, less: float, data: st.DataObject
) -> None:
    since = data.draw(st.integers(0, len(levels)))
    lower = [max(0.0, level - less) if i >= since else level for i, level in enumerate(levels)]
    assert at(lower, gap_s, label) <= at(levels, gap_s, label)


@given(LEVELS, GAPS, st.floats(0, 10), st.data())
def test_less_memory_never_acts_later_when_nobody_says_anything(
    levels: list[float], gap_s: float, less: float, data: st.DataObject
) -> None:
    since = data.draw(st.integers(1, len(levels)))
    course = [40.0, *levels]
    lower = [max(0.0, level - less) if i >= since else level for i, level in enumerate(course)]
    assert at(lower, gap_s, "") <= at(course, gap_s, "")


@given(st.floats(16.1, 120), st.integers(2, 200), GAPS, LABELS, st.floats(0, 34.9), st.floats(0, 60))
def test_no_action_without_evidence(
    level: float, count: int, gap_s: float, label: str, psi: float, swap: float
) -> None:
    samples = [look(i * gap_s, level, free=20, swap=swap, psi=psi) for i in range(count)]
    assert run(samples, label=label).action is Action.NOTHING


@given(LEVELS, GAPS, LABELS)
def test_a_kill_has_a_low_level_for_its_reason(levels: list[float], gap_s: float, label: str) -> None:
    result = run([look(i * gap_s, level) for i, level in enumerate(levels)], label=label)
    if result.at_s is not None:
        level = levels[result.samples - 1]
        assert level < 16, "no fall is a reason while there is plenty"


@settings(deadline=None, max_examples=60)
@given(st.floats(0.5, 20), st.floats(0.6, 2), st.sampled_from([4, 10, 20, 100]), st.floats(0, 0.99))
def test_a_steady_fall_is_ended_before_the_floor(rate: float, seconds: float, hz: int, shift: float) -> None:
    """As long as sampling allows: a fall that takes more than the ceiling's margin between two looks is faster."""
    if rate / hz > 16 - 8:
        return
    state, start = State(), 16 + rate * seconds
    for i in range(int((start / rate + 2) * hz)):
        t_s = (i + shift) / hz
        level = start - rate * t_s
        decision, state = decide(state, look(t_s, max(0.0, level)), Context(Phase.LOADING_WEIGHTS), SPARK)
        if decision.action is Action.KILL:
            assert level >= 8 - 1e-6, decision.reason
            assert level <= 16
            return
        assert level >= 8, "below the floor and nothing was done"


@settings(deadline=None, max_examples=60)
@given(st.floats(0.5, 16), st.floats(20, 50))
def test_the_guards_own_rate_of_looking_leaves_the_kill_its_time(rate: float, start: float) -> None:
    state, t_s = State(), 0.0
    while True:
        size = from_gib(start - rate * t_s)
        decision, state = decide(state, Sample(t_s, size), Context(Phase.PROFILING), SPARK)
        if decision.action is Action.KILL:
            break
        t_s += next_look_s(size - SPARK.hard_floor)
    over = size - rate * 0.1 * GIB
    assert over >= SPARK.hard_floor - 100 * MIB, "a kill takes a tenth of a second"
    assert size - SPARK.hard_floor < max(0.4 * GIB, rate * 0.6 * GIB), "no sooner than it must"


@given(LEVELS, GAPS, st.sampled_from([Phase.LOADING_WEIGHTS, Phase.SERVING, None]))
def test_the_same_samples_give_the_same_decisions(levels: list[float], gap_s: float, phase: Phase | None) -> None:
    def decisions() -> list[str]:
        state, made = State(), []
        for i, level in enumerate(levels):
            decision, state = decide(state, look(i * gap_s, level), Context(phase), SPARK)
            made.append(decision.reason)
        return made

    assert decisions() == decisions()


@given(LEVELS, GAPS)
def test_a_higher_floor_never_acts_later(levels: list[float], gap_s: float) -> None:
    higher = replace(SPARK, hard_floor=from_gib(10))
    samples = [look(i * gap_s, level) for i, level in enumerate(levels)]
    high, low = (run(samples, floors, "load") for floors in (higher, SPARK))
    assert low.at_s is None or low.action is not Action.KILL or (high.at_s is not None and high.at_s <= low.at_s)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 120), min_size=200, max_size=200))
def test_memory_does_not_grow(levels: list[float]) -> None:
    state = State()
    for i, level in enumerate(levels):
        _, state = decide(state, look(i * 0.004, level), Context(), SPARK)
        assert len(state.track.points) <= 16
