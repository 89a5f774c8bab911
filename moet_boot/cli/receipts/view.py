"""How receipts look on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from moet_boot.receipts.curve import sparkline
from moet_boot.receipts.model import Attempt, Receipt
from moet_boot.receipts.store import Listed
from moet_boot.supervise.afterwards import outcome_now
from moet_boot.units import format_bytes, format_seconds

STYLES = {"stopped": "green", "running": "cyan", "refused": "yellow"}
CURVE_WIDTH = 60


def listed_row(entry: Listed) -> dict[str, Any]:
    """One receipt as a row of the list."""
    if entry.receipt is None:
        return {"id": entry.id, "outcome": "unreadable", "problem": entry.problem}
    receipt = entry.receipt
    ready = next((a.ready_after_s for a in receipt.attempts if a.ready_after_s is not None), None)
    lows = [a.lowest_available_bytes for a in receipt.attempts if a.lowest_available_bytes is not None]
    return {
        "id": receipt.id,
        "profile": receipt.profile,
        "variant": receipt.variant,
        "outcome": outcome_now(receipt),
        "exit_code": receipt.exit_code,
        "ready_after_s": ready,
        "lowest_available_bytes": min(lows, default=None),
        "restarts": receipt.restarts,
    }


def receipts_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The list as a table."""
    table = Table(box=None, pad_edge=False)
    for name in ("id", "outcome", "exit", "ready after", "lowest available", "restarts"):
        table.add_column(name, no_wrap=name == "id")
    for row in rows:
        outcome = row["outcome"]
        ready, low = row.get("ready_after_s"), row.get("lowest_available_bytes")
        table.add_row(
            row["id"],
            Text(outcome, style=STYLES.get(outcome, "red")),
            "" if row.get("exit_code") is None else str(row["exit_code"]),
            "" if ready is None else format_seconds(ready),
            "" if low is None else format_bytes(low),
            str(row.get("restarts", "")),
        )
    return table


def receipt_view(receipt: Receipt, folder: str) -> list[RenderableType]:
    """One receipt for people."""
    outcome = outcome_now(receipt)
    name = receipt.profile + (f" ({receipt.variant})" if receipt.variant else "")
    head = Text.assemble(
        (outcome, STYLES.get(outcome, "bold red")), f"  {name}, {receipt.created_at}{_ended(receipt.exit_code)}"
    )
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    for key, value in _facts(receipt, folder):
        facts.add_row(key, value)
    return [head, facts, *[_attempt_view(i, a) for i, a in enumerate(receipt.attempts, 1)]]


def _ended(exit_code: int | None) -> str:
    return "" if exit_code is None else f", exit {exit_code}"


def _facts(receipt: Receipt, folder: str) -> list[tuple[str, str]]:
    rows = [
        ("receipt", folder),
        ("verdict", receipt.verdict),
        ("why", receipt.outcome_reason),
        ("accepted risks", ", ".join(receipt.accepted_risks)),
        ("overrides", ", ".join(receipt.overrides)),
        ("plan", f"{receipt.plan.digest[:12]} ({receipt.plan.runtime})"),
        ("image", str((receipt.plan.container or {}).get("image", ""))),
        ("command", " ".join(receipt.plan.argv)),
        ("first answer", receipt.first_answer or ""),
    ]
    return [(k, v) for k, v in rows if v]


def _attempt_view(number: int, attempt: Attempt) -> RenderableType:
    table = Table(box=None, pad_edge=False, title=f"attempt {number}", title_justify="left", title_style="bold")
    for name in ("phase", "from", "for", "lowest available", "peak held", "peak VRAM"):
        table.add_column(name, justify="left" if name == "phase" else "right")
    for phase in attempt.phases:
        length = None if phase.ended_s is None else phase.ended_s - phase.started_s
        table.add_row(
            phase.phase.words,
            format_seconds(phase.started_s),
            "" if length is None else format_seconds(length),
            _size(phase.lowest_available_bytes),
            _size(phase.peak_host_bytes),
            _size(phase.peak_gpu_bytes),
        )
    lines: list[RenderableType] = [table]
    if attempt.curve:
        points = [p.available_bytes for p in attempt.curve]
        step = max(len(points) // CURVE_WIDTH, 1)
        lines.append(Text(f"MemAvailable {sparkline(points[::step], CURVE_WIDTH)}", style="blue"))
    lines += [Text(f"guard at {a.at_s:.1f} s: {a.action}: {a.reason}", style="red") for a in attempt.guard_actions]
    if attempt.failure:
        lines.append(Text(f"{attempt.failure.kind}: {attempt.failure.sentence}", style="red"))
        if attempt.failure.evidence:
            lines.append(Text(f"  log: {attempt.failure.evidence}", style="dim"))
    return Group(*lines)


def _size(size: int | None) -> str:
    return "" if size is None else format_bytes(size)
