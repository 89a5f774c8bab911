"""The rate of a fall: what is one, what is a step, and what is too old or too new to tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.guard.fall import LONG_S, SHORT_S, STALE_S, Track
from moet_boot.units import GIB, from_gib


def rate_after(*points: tuple[float, float]) -> float:
    """GiB a second at the last of some (seconds, GiB)."""
    track = Track()
    for t_s, level in points[:-1]:
        track = track.then(t_s, from_gib(level))
    return track.fall_rate(points[-1][0], from_gib(points[-1][1])) / GIB


@pytest.mark.parametrize(
    ("points", "rate"),
    [
        (((0, 30),), 0),
        (((0, 30), (1, 28)), 2),
        (((0, 30), (1, 31)), 0),
        (((0, 30), (0.25, 29), (0.5, 28)), 4),
        (((0, 30), (0.25, 30), (0.5, 26)), 8),
        (((0, 30), (0.25, 26), (0.5, 26)), 0),
        (((0, 30), (0.25, 22), (0.5, 23)), 0),
        (((0, 30), (0.1, 29)), 0),
        (((0, 30), (5.0, 20)), 2),
        (((0, 30), (5.1, 20)), 0),
        (((0, 30), (1, 30), (1, 20)), 10),
        (((0, 30), (0, 20)), 0),
    ],
    ids=[
        "one look",
        "two looks",
        "a rise",
        "steady",
        "a step is half a fall",
        "a step that is over",
        "a fall that has turned",
        "too new",
        "just not too old",
        "too old",
        "twice at one moment, against the look before",
        "twice at the first moment",
    ],
)
def test_rates(points: tuple[tuple[float, float], ...], rate: float) -> None:
    assert rate_after(*points) == pytest.approx(rate, abs=1e-6)


@given(st.floats(0.1, 20), st.sampled_from([2, 4, 10, 20, 100, 500]), st.integers(0, 3))
def test_a_steady_fall_has_its_rate_at_any_rate_of_looking(rate: float, hz: int, seconds: int) -> None:
    points = [(i / hz, 100 - rate * i / hz) for i in range(hz * (seconds + 1) + 1)]
    assert rate_after(*points) == pytest.approx(rate, rel=1e-3)


@given(st.lists(st.tuples(st.floats(0.001, 2), st.floats(0, 100)), min_size=1, max_size=60))
def test_never_negative_never_faster_than_the_last_stretch_and_of_fixed_size(steps: list[tuple[float, float]]) -> None:
    track, t_s, last_s = Track(), 0.0, -10.0
    for gap_s, level in steps:
        t_s += gap_s
        size = from_gib(level)
        assert track.fall_rate(t_s, size) >= 0
        track = track.then(t_s, size)
        assert len(track.points) <= LONG_S / SHORT_S + 3
        assert track.points[-1][0] - last_s >= SHORT_S or track.points[-1][0] == last_s
        last_s = track.points[-1][0]
    assert STALE_S > LONG_S > SHORT_S
