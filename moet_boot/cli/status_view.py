"""How a running server looks on a terminal."""

import time
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from moet_boot.cli.output import Output
from moet_boot.exits import Exit
from moet_boot.receipts.curve import sparkline
from moet_boot.supervise.status import Status, all_status, nobody_runs
from moet_boot.units import format_bytes, format_seconds

WATCH_SECONDS = 0.5
SPARK_WIDTH = 60


def status_row(status: Status) -> dict[str, Any]:
    """One server as JSON."""
    row = status.model_dump(mode="json", by_alias=True, exclude={"recent"})
    row.pop("schema")
    return row


def status_view(servers: Sequence[Status], now: float | None = None) -> RenderableType:
    """All servers for people."""
    return Group(*[_one(s, time.time() if now is None else now) for s in servers])


def watch_status(output: Output, port: int | None) -> int:
    """Show the servers again and again until Ctrl-C, or until none runs."""
    with Live(console=output.console, auto_refresh=False, transient=False) as live:
        while True:
            running = [f.status for f in all_status() if f.alive and port in {None, f.status.port}]
            if not running:
                live.update(Text(nobody_runs(port)), refresh=True)
                return Exit.FAILURE
            live.update(status_view(running), refresh=True)
            time.sleep(WATCH_SECONDS)


def _one(status: Status, now: float) -> RenderableType:
    name = status.profile + (f" ({status.variant})" if status.variant else "")
    state = Text("ready", style="bold green") if status.ready else Text(status.phase, style="bold cyan")
    head = Text.assemble(state, f"  {name} at {status.url}, up {format_seconds(max(now - status.started_at, 0))}")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for key, value in _facts(status, now):
        table.add_row(key, value)
    parts: list[RenderableType] = [head, table]
    if status.recent:
        values = [p.available_bytes for p in status.recent]
        parts.append(Text(f"MemAvailable {sparkline(values, SPARK_WIDTH)}", style="blue"))
    return Group(*parts)


def _facts(status: Status, now: float) -> list[tuple[str, str]]:
    memory = []
    if status.available_bytes is not None:
        memory.append(f"{format_bytes(status.available_bytes)} available")
    if status.lowest_available_bytes is not None:
        memory.append(f"lowest {format_bytes(status.lowest_available_bytes)}")
    if status.floor_bytes is not None:
        memory.append(f"guard acts below {format_bytes(status.floor_bytes)}")
    rows = [
        ("memory", ", ".join(memory)),
        ("restarts", str(status.restarts)),
        ("pids", f"supervisor {status.supervisor_pid}, server {status.server_pid or '-'}"),
        ("receipt", status.receipt),
        ("seen", f"{format_seconds(max(now - status.updated_at, 0))} ago"),
        ("note", status.note),
    ]
    return [(k, v) for k, v in rows if v]
