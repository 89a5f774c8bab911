"""Narrow terminals and pipes: nothing is lost, nothing breaks."""

import io

import pytest
from rich.console import Console, RenderableType

from moet_boot.cli.profiles.view import (
    checked_view,
    differences_table,
    explained_view,
    listed_row,
    profiles_table,
    recommendation_view,
)
from moet_boot.profile.check import check_profile
from moet_boot.profile.diff import diff_profiles
from moet_boot.profile.explain import explain
from moet_boot.profile.fit import MachineFacts, fit
from moet_boot.profile.recommend import published_profiles, recommend
from tests.profile.shipped import VARIANTS, shipped

LAPTOP = MachineFacts("x86_64", 16 << 30, (), gpu_error="NVML: LIBRARY_NOT_FOUND")


def drawn(*renderables: RenderableType, width: int) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, markup=False, highlight=False)
    for renderable in renderables:
        console.print(renderable)
    return stream.getvalue()


def squeezed(text: str) -> str:
    """Without blanks and line ends: what wraps in a narrow column is still there."""
    return "".join(text.split())


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_an_explanation_keeps_every_word_at_any_width(name: str, variant: str | None, width: int) -> None:
    decisions = explain(shipped(name, variant))
    shown = squeezed(drawn(*explained_view(decisions), width=width))
    for one in decisions:
        assert squeezed(one.why) in shown, one.key
        assert squeezed(one.source) in shown, one.key
        assert squeezed(one.value) in shown, one.key


@pytest.mark.parametrize("width", [40, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    rows = [listed_row(shipped(n), fit(shipped(n), LAPTOP)) for n in ("spark", "rtx6000-a", "demo")]
    differences = diff_profiles(shipped("rtx6000-a"), shipped("rtx6000-b"))
    text = drawn(
        profiles_table(rows),
        *explained_view(explain(shipped("rtx6000-a"))),
        differences_table("rtx6000-a", "rtx6000-b", differences),
        *checked_view(check_profile("spark")),
        *recommendation_view(recommend(64, 32768, published_profiles())),
        width=width,
    )
    assert max(len(line) for line in text.splitlines()) <= width


def test_a_row_of_the_list() -> None:
    row = listed_row(shipped("rtx6000-b"), fit(shipped("rtx6000-b"), LAPTOP))
    assert (row["name"], row["variants"], row["fits"]) == ("rtx6000-b", ["plain", "mtp"], False)
    assert row["against"] == [
        "needs RTX PRO 6000 (compute capability 12.0), no GPU was found (NVML: LIBRARY_NOT_FOUND)"
    ]


def test_text_that_looks_like_markup_is_shown_as_it_is() -> None:
    (one,) = explain(shipped("rtx6000-a"), "compilation-config")
    assert '{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}' in drawn(*explained_view([one]), width=200)
