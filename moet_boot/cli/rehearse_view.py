"""How a rehearsal is shown."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from moet_boot.guard.rehearse import Rehearsal
from moet_boot.units import format_bytes


def rehearsal_document(result: Rehearsal, profile: str) -> dict[str, Any]:
    """The JSON of a rehearsal; sizes in bytes."""
    limit, fall, worst = result.limit, result.fall, result.worst
    return {
        "profile": profile,
        "passed": result.passed,
        "acted": result.reaction is not None,
        "available_bytes": limit.available,
        "limit_bytes": limit.take,
        "floor_bytes": limit.floor,
        "lowest_bytes": fall.lowest,
        "undershoot_bytes": fall.undershoot,
        "fall_bytes_per_s": round(fall.rate),
        "taken_after_decision_bytes": None if result.reaction is None else result.reaction.taken,
        "decision_to_fall_over_s": None if result.reaction is None else round(result.reaction.over_s, 4),
        "decision_to_dead_s": None if result.reaction is None else round(result.reaction.dead_s, 4),
        "crossing_to_dead_s": round(fall.late_s, 4),
        "reason": result.reason,
        "protection": result.protection,
        "worst_recorded_fall": None
        if worst is None
        else {
            "fall_bytes_per_s": round(worst.rate),
            "acted_at_bytes": worst.acted_at,
            "lowest_bytes": worst.lowest,
            "danger_bytes": worst.danger,
            "held": worst.held,
        },
    }


def rehearsal_view(result: Rehearsal) -> list[RenderableType]:
    """The same for people: a table and one sentence."""
    limit, fall = result.limit, result.fall
    table = Table(show_header=False, box=None, pad_edge=False)
    rows = [
        ("available before", format_bytes(limit.available)),
        ("the child might take", format_bytes(limit.take)),
        ("floor of this rehearsal", format_bytes(limit.floor)),
        ("it fell by", f"{format_bytes(fall.rate)} a second"),
        ("lowest", f"{format_bytes(fall.lowest)}, {format_bytes(fall.undershoot)} below the floor"),
        ("after the decision", _reaction(result)),
        ("guard", result.protection),
    ]
    for name, value in rows:
        table.add_row(name, value)
    return [table, _sentence(result)]


def _reaction(result: Rehearsal) -> str:
    if result.reaction is None:
        return "-"
    taken, over_ms = format_bytes(result.reaction.taken), result.reaction.over_s * 1000
    return f"{taken} more taken ({over_ms:.0f} ms of the fall), dead after {result.reaction.dead_s * 1000:.0f} ms"


def _sentence(result: Rehearsal) -> Text:
    worst = result.worst
    if worst is None:
        return Text("the guard did NOT end the fall: do not boot with it", style="bold red")
    text = (
        f"in the worst recorded fall ({format_bytes(worst.rate)} a second, on unified memory) it would act at "
        f"{format_bytes(worst.acted_at)} and memory would end at {format_bytes(worst.lowest)}, with danger at "
        f"{format_bytes(worst.danger)}: it would {'hold' if worst.held else 'NOT hold'}"
    )
    return Text(text, style="" if result.passed else "bold red")
