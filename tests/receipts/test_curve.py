from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.phases import Phase
from moet_boot.receipts.curve import boot_part, draw_svg, extended, sparkline, thin
from moet_boot.receipts.model import Attempt, CurvePoint, PhaseRecord
from moet_boot.units import GIB

SVG = "{http://www.w3.org/2000/svg}"


def curve(*lows_gib: float) -> list[CurvePoint]:
    return [
        CurvePoint(t_s=float(i), available_bytes=round(gib * GIB), free_bytes=round(gib * GIB / 2))
        for i, gib in enumerate(lows_gib)
    ]


@given(st.lists(st.floats(0, 120), min_size=1, max_size=400), st.integers(3, 60))
def test_thinning_keeps_the_ends_the_order_and_the_lowest_point(lows: list[float], most: int) -> None:
    points = curve(*lows)
    thinned = thin(points, most)
    assert len(thinned) <= max(most, 3)
    assert thinned[0] == points[0]
    assert thinned[-1] == points[-1]
    assert [p.t_s for p in thinned] == sorted(p.t_s for p in thinned)
    assert min(p.available_bytes for p in thinned) == min(p.available_bytes for p in points)


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_drawing_names_phases_floors_and_lines() -> None:
    phases = [
        PhaseRecord(phase=Phase.STARTING, started_s=0, ended_s=1),
        PhaseRecord(phase=Phase.LOADING_WEIGHTS, started_s=1, ended_s=4),
    ]
    svg = draw_svg("one boot", curve(110, 80, 30, 12, 12), phases, {"kill floor": 8.0})
    found = texts(svg)
    assert {"one boot", "starting", "loading weights", "MemAvailable", "MemFree", "kill floor 8 GiB"} <= set(found)
    assert "swap used" not in found
    assert len(list(ET.fromstring(svg).iter(f"{SVG}polyline"))) == 2


def test_a_lower_value_is_drawn_lower() -> None:
    svg = ET.fromstring(draw_svg("t", curve(100, 20), [], {}))
    line = list(svg.iter(f"{SVG}polyline"))[-1].get("points", "").split()
    assert float(line[0].split(",")[1]) < float(line[1].split(",")[1])


def test_swap_has_a_line_when_it_was_used() -> None:
    points = [p.model_copy(update={"swap_used_bytes": GIB}) for p in curve(10, 5)]
    assert "swap used" in texts(draw_svg("t", points, [], {}))


@pytest.mark.parametrize("title", ["<script>", "a & b", '"quoted"', "émoji ☃"])
def test_any_title_gives_a_well_formed_document(title: str) -> None:
    assert title in texts(draw_svg(title, curve(1, 2), [], {}))


def test_an_empty_curve_is_drawn_empty() -> None:
    assert not list(ET.fromstring(draw_svg("t", [], [], {})).iter(f"{SVG}polyline"))


def test_what_came_later_is_added_and_the_rest_stays() -> None:
    known = curve(30, 20, 10)
    later = curve(*range(100))
    both = extended(known, later, 12)
    assert both[:3] == known
    assert all(a.t_s < b.t_s for a, b in pairwise(both))
    assert 10 <= len(both) <= 15
    assert extended([], later, 1000) == later, "few points stay as they are"
    assert extended(known, [], 5) == known


def test_the_boot_alone() -> None:
    phases = [PhaseRecord(phase=Phase.STARTING, started_s=0, ended_s=2), PhaseRecord(phase=Phase.SERVING, started_s=2)]
    whole = Attempt(started_at="x", ready_after_s=2, phases=phases, curve=curve(*range(100, 0, -1)))
    part = boot_part(whole)
    assert [p.t_s for p in part.curve] == [p.t_s for p in whole.curve if p.t_s <= 2.2]
    assert [p.ended_s for p in part.phases] == [2, pytest.approx(2.2)]
    never_ready = whole.model_copy(update={"ready_after_s": None})
    assert boot_part(never_ready) is never_ready


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [([], 5, ""), ([0, 0], 5, "▁▁"), ([0, 7], 5, "▁█"), ([9, 9, 0, 7], 2, "▁█"), ([1, 2, 4, 8], 4, "▂▃▅█")],
)
def test_sparklines(values: list[float], width: int, expected: str) -> None:
    assert sparkline(values, width) == expected
