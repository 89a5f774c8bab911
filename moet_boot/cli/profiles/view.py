"""How profiles look on a terminal."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moet_boot.profile.check import CheckedProfile
from moet_boot.profile.diff import Difference
from moet_boot.profile.explain import Explained
from moet_boot.profile.fit import Fit
from moet_boot.profile.load import PLAIN
from moet_boot.profile.model import Profile
from moet_boot.profile.recommend import Option, Recommendation

STATUS_STYLES = {"warn": "yellow", "refuse": "bold red"}


def listed_row(profile: Profile, found: Fit) -> dict[str, Any]:
    """One profile of the list, as data."""
    return {
        "name": profile.name,
        "title": profile.title,
        "summary": profile.summary,
        "variants": [PLAIN, *profile.variants],
        "fits": found.fits,
        "against": list(found.against),
    }


def profiles_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The list for people: what fits this machine, and why the others do not."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    for heading in ("profile", "variants", "fits here", "what it is"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        fits = Text("yes", style="green") if row["fits"] else Text(f"no: {'; '.join(row['against'])}", style="dim")
        table.add_row(Text(row["name"], style="bold"), ", ".join(row["variants"]), fits, row["summary"])
    return table


def explained_view(decisions: Sequence[Explained]) -> Iterator[RenderableType]:
    """Decision after decision, by table."""
    for section, members in groupby(decisions, key=lambda one: one.section):
        yield Text(section, style="bold cyan")
        for one in members:
            name = "" if one.name == section else f"{one.name} = "
            yield Padding(Text.assemble((name, "bold"), one.value), (0, 0, 0, 2))
            yield Padding(_reasons(one), (0, 0, 1, 4))


def _reasons(one: Explained) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    lines = {
        "why": one.why,
        "measured": one.measured,
        "source": one.source,
        "set by": one.layer if one.layer != "profile" else None,
        "instead of": ", ".join(one.overrides),
        "whose why": one.replaced_why,
    }
    for name, text in lines.items():
        if text:
            grid.add_row(name, text)
    return grid


def differences_table(left: str, right: str, found: Sequence[Difference]) -> Table:
    """What differs, side by side, with the reasons below the values."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", left, right):
        table.add_column(heading, overflow="fold")
    for one in found:
        table.add_row(Text(one.key, style="bold"), _or_nothing(one.left), _or_nothing(one.right))
        if one.left_why or one.right_why:
            table.add_row("", Text(one.left_why or "", style="dim"), Text(one.right_why or "", style="dim"))
    return table


def _or_nothing(value: str | None) -> Text:
    return Text("not said", style="dim") if value is None else Text(value)


def checked_view(checked: CheckedProfile) -> Iterator[RenderableType]:
    """One profile's problems and rules."""
    fine = not checked.problems and not checked.refused
    state = "ok" if fine else "not valid" if checked.problems else "refused by a rule"
    head = f"{checked.profile}: {state}" + (f" ({', '.join(checked.variants)})" if checked.variants else "")
    yield Text(head, style="green" if fine else "bold red")
    for problem in checked.problems:
        yield Padding(Text(str(problem)), (0, 0, 0, 2))
        yield Padding(Text(f"fix: {problem.fix}", style="dim"), (0, 0, 0, 4))
    for one in checked.judged:
        result = one.result
        line = f"{result.status} {result.id} ({one.variant}): {result.measured}, required: {result.required}"
        yield Padding(Text(line, style=STATUS_STYLES[result.status]), (0, 0, 0, 2))
        yield Padding(Text(f"{result.why}; fix: {result.fix} [{result.source}]", style="dim"), (0, 0, 0, 4))


def recommendation_document(found: Recommendation) -> dict[str, Any]:
    """A recommendation as data."""
    return {
        "streams": found.streams,
        "context": found.context,
        "profile": found.choice.profile.name,
        "variant": found.choice.profile.variant,
        "recommended": _option_row(found.choice),
        "because": found.because,
        "others": [_option_row(one) for one in found.others],
        "warnings": list(found.warnings),
    }


def _option_row(option: Option) -> dict[str, Any]:
    return {
        "profile": option.profile.name,
        "variant": option.profile.variant,
        "set": list(option.sets),
        "tokens_per_s": round(option.speed.value, 1),
        "basis": option.speed.basis,
        "between": [list(point) for point in option.speed.between],
        "arguments": list(option.arguments),
    }


def recommendation_view(found: Recommendation) -> Iterator[RenderableType]:
    """The choice first, then its figures, then the others."""
    yield Text(found.choice.name, style="bold green")
    yield Text(f"  because  {found.because}")
    yield Text(f"  try      moet-boot preflight {shlex.join(found.choice.arguments)}")
    for option in found.others:
        unit = option.profile.curves["throughput"].y_unit
        yield Text(f"  else     {option.name}: {option.speed.words(unit)}", style="dim")
