import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile.interpolate import read_curve
from moet_boot.profile.model import Curve


def curve(*points: tuple[float, float]) -> Curve:
    return Curve(x_unit="streams", y_unit="tok/s", points=points, why="w", source="s")


TABLE = curve((1, 100), (8, 240), (64, 1000))


@pytest.mark.parametrize("point", TABLE.points)
def test_at_a_point_the_figure_is_the_measured_one(point: tuple[float, float]) -> None:
    reading = read_curve(TABLE, point[0])
    assert reading is not None
    assert (reading.value, reading.basis, reading.between) == (point[1], "measured", (point,))


def test_between_two_points_it_is_interpolated_and_says_between_which() -> None:
    reading = read_curve(TABLE, 36)
    assert reading is not None
    assert reading.value == pytest.approx(620)
    assert reading.words("tok/s") == "620 tok/s (interpolated between 240 at 8 and 1000 at 64)"


def test_beyond_the_last_point_it_is_the_last_figure_and_says_so() -> None:
    reading = read_curve(TABLE, 65)
    assert reading is not None
    assert reading.words("tok/s") == "1000 tok/s (beyond the table, last measured 1000 at 64)"


def test_below_the_first_point_there_is_no_figure() -> None:
    assert read_curve(TABLE, 0.5) is None


def test_measured_in_words() -> None:
    reading = read_curve(TABLE, 8)
    assert reading is not None
    assert reading.words("tok/s") == "240 tok/s (measured)"


points = st.dictionaries(st.integers(1, 999), st.floats(0, 9999), min_size=2, max_size=6)


@given(points=points, share=st.floats(0, 1))
def test_an_interpolated_figure_lies_between_its_neighbours(points: dict[int, float], share: float) -> None:
    table = curve(*sorted((float(x), y) for x, y in points.items()))
    first, last = table.points[0][0], table.points[-1][0]
    reading = read_curve(table, min(first + (last - first) * share, last))
    assert reading is not None
    heights = [y for _, y in reading.between]
    assert min(heights) - 1e-6 <= reading.value <= max(heights) + 1e-6
    assert reading.basis != "beyond"
