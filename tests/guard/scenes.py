"""Building blocks of guard tests: the floors of a Spark, and samples from figures in GiB."""

from collections.abc import Callable, Iterable, Sequence

from moet_boot.guard.floors import Floors
from moet_boot.guard.replay import Replay, replay
from moet_boot.guard.sample import Sample
from moet_boot.guard.trace import TracePoint
from moet_boot.units import from_gib

SPARK = Floors(hard_floor=from_gib(8), serving_floor=from_gib(4), serving_hard_floor=from_gib(1.5), relief=True)
"""The floors of the field notes (policy 1-5)."""


def look(
    t_s: float,
    available: float | None,
    *,
    free: float | None = None,
    swap: float | None = 0.0,
    psi: float | None = 0.0,
) -> Sample:
    """One sample, sizes in GiB."""
    sizes = [None if size is None else from_gib(size) for size in (available, free, swap)]
    return Sample(t_s, sizes[0], sizes[1], sizes[2], psi)


def steady(
    level: Callable[[float], float], *, until_s: float, hz: float, label: str | None = None, psi: float = 0.0
) -> list[TracePoint]:
    """A trace whose MemAvailable (GiB) is a function of the time."""
    return [TracePoint(look(i / hz, max(0.0, level(i / hz)), psi=psi), label) for i in range(round(until_s * hz) + 1)]


def run(samples: Iterable[Sample | TracePoint], floors: Floors = SPARK, label: str | None = None) -> Replay:
    """The policy over samples, all of them with one label unless they have their own."""
    points = [s if isinstance(s, TracePoint) else TracePoint(s, label) for s in samples]
    return replay(points, floors)


def line(points: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """A curve through (seconds, GiB), straight in between, level before and after."""

    def level(t_s: float) -> float:
        before = [p for p in points if p[0] <= t_s]
        after = [p for p in points if p[0] > t_s]
        if not before:
            return after[0][1]
        if not after:
            return before[-1][1]
        (t0, y0), (t1, y1) = before[-1], after[0]
        return y0 + (y1 - y0) * (t_s - t0) / (t1 - t0)

    return level
