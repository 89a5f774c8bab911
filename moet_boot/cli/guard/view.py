"""How a replay is shown."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from moet_boot.guard.replay import Replay
from moet_boot.guard.sample import Action

_STYLES = {Action.KILL: "bold red", Action.RELIEVE: "yellow", Action.NOTHING: "green"}


def replay_document(result: Replay, profile: str) -> dict[str, Any]:
    """The JSON of a replay (design: commands)."""
    return {
        "profile": profile,
        "action": result.action.value,
        "at_s": _rounded(result.at_s),
        "reason": result.reason,
        "samples": result.samples,
        "log": [
            {"t_s": _rounded(entry.t_s), "action": entry.action.value, "reason": entry.reason} for entry in result.log
        ],
    }


def replay_table(result: Replay) -> list[RenderableType]:
    """The same for people."""
    when = "" if result.at_s is None else f" at {result.at_s:.2f} s"
    lines: list[RenderableType] = [f"{result.action.value}{when}: {result.reason}"]
    if len(result.log) > 1:
        table = Table("second", "action", "reason", box=None, pad_edge=False)
        for entry in result.log:
            style = _STYLES.get(entry.action, "")
            table.add_row(f"{entry.t_s:.2f}", entry.action.value, entry.reason, style=style)
        lines.append(table)
    return lines


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
