"""Interpolation and the outcome of a replay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.guard.replay import replay, resampled, without_labels
from moet_boot.guard.sample import Action
from moet_boot.guard.trace import TracePoint
from moet_boot.units import GIB
from tests.guard.scenes import SPARK, look


def trace(*points: tuple[float, float, str | None]) -> list[TracePoint]:
    return [TracePoint(look(t, level), label) for t, level, label in points]


def test_figures_are_interpolated_and_labels_are_kept() -> None:
    points = list(resampled(trace((0, 10, "load"), (1, 20, None), (2, 20, "ready")), 4))
    assert [p.sample.t_s for p in points] == [i / 4 for i in range(9)]
    assert [round((p.sample.available or 0) / GIB, 2) for p in points] == [10, 12.5, 15, 17.5, 20, 20, 20, 20, 20]
    assert [p.label for p in points] == ["load"] * 4 + [None] * 4 + ["ready"]


def test_what_one_neighbour_does_not_know_is_unknown_in_between() -> None:
    points = list(resampled([TracePoint(look(0, 10, free=3)), TracePoint(look(1, 10, free=None, psi=None))], 2))
    assert [p.sample.free for p in points] == [3 * GIB, None, None]
    assert [p.sample.psi_full_avg10 for p in points] == [0.0, None, None]


def test_one_sample_stays_one_sample() -> None:
    assert list(resampled(trace((5, 10, None)), 10)) == trace((5, 10, None))


def test_a_jump_within_one_moment() -> None:
    points = list(resampled(trace((0, 10, None), (1, 10, None), (1, 30, None), (2, 30, None)), 1))
    assert [(p.sample.available or 0) // GIB for p in points] == [10, 10, 30]


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 100)), min_size=1, max_size=8),
    st.floats(0.1, 40),
)
def test_interpolation_stays_between_the_samples(course: list[tuple[float, float]], hz: float) -> None:
    points = trace(*((t, level, None) for t, level in sorted(course)))
    made = list(resampled(points, hz))
    times = [p.sample.t_s for p in made]
    sizes = [p.sample.available or 0 for p in points]
    assert times == sorted(times)
    assert times[0] == points[0].sample.t_s
    assert times[-1] <= points[-1].sample.t_s + 1e-6
    assert all(min(sizes) <= (p.sample.available or 0) <= max(sizes) for p in made)


def test_labels_can_be_hidden() -> None:
    assert without_labels(trace((0, 1, "load"), (1, 1, None))) == trace((0, 1, None), (1, 1, None))


def test_a_kill_outranks_an_earlier_relief_and_ends_the_log() -> None:
    points = [TracePoint(look(0, 40, free=2), "load"), TracePoint(look(10, 7), "load"), TracePoint(look(11, 6), "load")]
    result = replay(points, SPARK)
    assert (result.action, result.at_s, result.samples) == (Action.KILL, 10.0, 2)
    assert [entry.action for entry in result.log] == [Action.RELIEVE, Action.KILL]


def test_a_relief_is_the_answer_if_nothing_ends_the_server() -> None:
    result = replay([TracePoint(look(i, 40, free=2), "load") for i in range(5)], SPARK)
    assert (result.action, result.at_s, len(result.log)) == (Action.RELIEVE, 0.0, 5)


def test_a_stop_counts_as_a_kill() -> None:
    result = replay([TracePoint(look(i, 3.5), "serving") for i in range(9)], SPARK)
    assert (result.action, result.at_s, result.log[-1].action) == (Action.KILL, 3.0, Action.STOP)


@pytest.mark.parametrize("count", [1, 7])
def test_nothing_says_how_much_was_seen(count: int) -> None:
    result = replay([TracePoint(look(i, 40)) for i in range(count)], SPARK)
    assert (result.action, result.at_s, result.log) == (Action.NOTHING, None, ())
    assert f"{count} samples" in result.reason
