"""Progress of long work over bytes: bars on a terminal, NDJSON events with --json, nothing in a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from moet_boot.cli.output import Output

Report = Callable[[int, int], None]
EVENT_EVERY_S = 0.5


@contextmanager
def stages(output: Output, kind: str = "planes-progress") -> Iterator[Callable[[str], Report]]:
    """Give a function that makes the (done bytes, total bytes) callback of a named stage; `kind` is the events'."""
    if not output.live:
        yield lambda name: _events(output, kind, name)
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=output.talk,
        transient=True,
    ) as bars:
        yield lambda name: _bar(bars, name)


def _bar(bars: Progress, name: str) -> Report:
    task = bars.add_task(name, total=None, start=False, visible=False)

    def report(done: int, total: int) -> None:
        bars.start_task(task)
        bars.update(task, completed=done, total=total, visible=True)

    return report


def _events(output: Output, kind: str, name: str) -> Report:
    started = time.monotonic()
    last = started

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < EVENT_EVERY_S and done < total:
            return
        last = now
        rate = done / max(now - started, 1e-9)
        event = {"stage": name, "done_bytes": done, "total_bytes": total, "bytes_per_s": round(rate)}
        output.event(kind, {**event, "eta_s": round((total - done) / max(rate, 1.0), 1)})

    return report
