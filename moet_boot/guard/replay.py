"""The policy over recorded samples: what the guard would have done, and when."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from moet_boot.guard.floors import Floors
from moet_boot.guard.policy import State, decide
from moet_boot.guard.sample import Action, Context, Sample
from moet_boot.guard.trace import TracePoint


@dataclass(frozen=True)
class LoggedAction:
    """One decision of a replay that was not "nothing"."""

    t_s: float
    action: Action
    reason: str


@dataclass(frozen=True)
class Replay:
    """The outcome: the first action that ends the server, else the first relief, else nothing.

    A stop counts as a kill here: either way the server is gone. `log` ends with the action that ends the server.
    """

    action: Action
    at_s: float | None
    reason: str
    log: tuple[LoggedAction, ...]
    samples: int


def replay(points: Iterable[TracePoint], floors: Floors) -> Replay:
    """Run the policy over samples in the order of time until it ends the server.

    A label that changes ("load 46/120", "load 48/120") is a sign of progress, as a log line is in a live boot.
    """
    state, context, label, log, count = State(), Context(), None, [], 0
    for count, point in enumerate(points, 1):
        if point.label and point.label != label:
            label, context = point.label, Context(point.phase, progress_s=point.sample.t_s)
        decision, state = decide(state, point.sample, context, floors)
        if decision.action is Action.NOTHING:
            continue
        log.append(LoggedAction(point.sample.t_s, decision.action, decision.reason))
        if decision.action.ends_server:
            return Replay(Action.KILL, point.sample.t_s, decision.reason, tuple(log), count)
    if log:
        return Replay(log[0].action, log[0].t_s, log[0].reason, tuple(log), count)
    return Replay(Action.NOTHING, None, f"nothing in {count} samples called for an action", (), count)


def without_labels(points: Sequence[TracePoint]) -> list[TracePoint]:
    """The same samples as a guard sees them that nobody tells about phases."""
    return [replace(point, label=None) for point in points]


def resampled(points: Sequence[TracePoint], hz: float) -> Iterator[TracePoint]:
    """The trace at a fixed rate: figures by linear interpolation, the phase of the last recorded sample.

    A figure is unknown in between unless both neighbours know it.
    """
    start, end = points[0].sample.t_s, points[-1].sample.t_s
    right = 0
    for step in range(math.floor((end - start) * hz + 1e-9) + 1):
        t_s = start + step / hz
        while right < len(points) - 1 and points[right].sample.t_s < t_s:
            right += 1
        yield _between(points[max(right - 1, 0)], points[right], t_s)


def _between(before: TracePoint, after: TracePoint, t_s: float) -> TracePoint:
    if t_s >= after.sample.t_s:
        return TracePoint(replace(after.sample, t_s=t_s), after.label)
    if t_s <= before.sample.t_s:
        return TracePoint(replace(before.sample, t_s=t_s), before.label)
    a, b = before.sample, after.sample
    share = (t_s - a.t_s) / (b.t_s - a.t_s)
    figures = Sample(
        t_s,
        available=_mix(a.available, b.available, share),
        free=_mix(a.free, b.free, share),
        swap_used=_mix(a.swap_used, b.swap_used, share),
        psi_full_avg10=None
        if a.psi_full_avg10 is None or b.psi_full_avg10 is None
        else a.psi_full_avg10 + share * (b.psi_full_avg10 - a.psi_full_avg10),
    )
    return TracePoint(figures, before.label)


def _mix(a: int | None, b: int | None, share: float) -> int | None:
    return None if a is None or b is None else round(a + share * (b - a))
