"""A fall of memory as an observer beside it saw it: how deep, how fast, and when the one who caused it was dead."""

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from moet_boot.guard.sampler import Sampler

PAUSE_S = 0.0003
"""Between two looks of the observer: finer than anything that is measured, and it leaves the processor alone."""


@dataclass(frozen=True)
class FallRecord:
    """One fall. Bytes, bytes a second, seconds of the monotonic clock.

    `late_s`: from the moment at which the floor was crossed to the death. A fall that ended above the floor has not
    crossed it; then the moment counts at which it would have, at the rate that it had.
    """

    killed: bool
    lowest: int
    undershoot: int
    crossed: bool
    late_s: float
    rate: float
    dead_s: float


def observe(eyes: Sampler, pid: int, floor: int, *, go: Callable[[], None], status: Callable[[], int]) -> FallRecord:
    """Start the fall with `go` and look at it until the process is dead. `eyes` must use time.monotonic.

    `status` then tells how it ended, as Popen.wait does.
    """
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    curve: list[tuple[float, int]] = []
    go()
    try:
        while not curve or not poll.poll(0):
            sample = eyes.read()
            if sample.available is not None:
                curve.append((sample.t_s, sample.available))
            time.sleep(PAUSE_S)
    finally:
        os.close(pidfd)
    dead_s = time.monotonic()
    return judge(curve, dead_s, floor, killed=status() == -signal.SIGKILL)


def judge(curve: Sequence[tuple[float, int]], dead_s: float, floor: int, *, killed: bool) -> FallRecord:
    """The figures of a curve of (seconds, bytes)."""
    lowest = min(size for _, size in curve)
    bottom_s = next(t for t, size in curve if size == lowest)
    rate = _rate(curve, lowest, bottom_s)
    crossing_s = next((t for t, size in curve if size < floor), None)
    crossed = crossing_s is not None
    if crossing_s is None:
        crossing_s = bottom_s + (lowest - floor) / max(rate, 1.0)
    return FallRecord(killed, lowest, max(0, floor - lowest), crossed, dead_s - crossing_s, rate, dead_s)


def _rate(curve: Sequence[tuple[float, int]], lowest: int, bottom_s: float) -> float:
    """Bytes a second over the middle half of the fall: neither its start nor its end is steady."""
    depth = curve[0][1] - lowest
    high, low = curve[0][1] - depth // 4, lowest + depth // 4
    inner = [(t, size) for t, size in curve if low <= size <= high and t <= bottom_s]
    if len(inner) < 2 or inner[-1][0] <= inner[0][0]:  # noqa: PLR2004
        return 0.0
    return (inner[0][1] - inner[-1][1]) / (inner[-1][0] - inner[0][0])
