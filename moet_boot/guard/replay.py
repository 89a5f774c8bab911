"""The policy over recorded samples: what the guard would have done, and when."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moet_boot.errors import UsageError
from moet_boot.guard.floors import Floors
from moet_boot.guard.policy import State, decide
from moet_boot.guard.sample import Action, Context, Sample
from moet_boot.phases import Phase
from moet_boot.units import from_gib

_MAX_BYTES = 64 << 20
_MAX_GIB = float(1 << 20)


@dataclass(frozen=True)
class TracePoint:
    """A recorded sample with what was said about the phase from then on (None: nothing)."""

    sample: Sample
    label: str | None = None

    @property
    def phase(self) -> Phase | None:
        """The label as a phase: `ready` or `serving` anywhere in it means readiness, else it is a boot."""
        if not self.label:
            return None
        text = self.label.lower()
        if "ready" in text or "serving" in text:
            return Phase.SERVING
        return next((phase for phase in Phase if phase.value in text), Phase.STARTING)


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


def load_trace(path: Path) -> list[TracePoint]:
    """Read a trace: a JSON list of samples, or a document whose `boot_trace` is one (field cases, README there).

    Raises UsageError, naming file and sample, for whatever is not a trace.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path} is larger than any trace ({_MAX_BYTES >> 20} MiB)", fix="pass a recorded trace")
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read the trace {path}: {error.strerror}", fix="pass a JSON file") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", fix="pass a list of samples in JSON") from error
    samples = body.get("boot_trace") if isinstance(body, dict) else body
    if not isinstance(samples, list) or not samples:
        raise UsageError(
            f"{path} has no samples: expected a list, or a document with a list `boot_trace`",
            fix='pass samples such as {"t_s": 0, "mem_available_gib": 28.9}',
        )
    return _ordered([_point(item, f"{path}, sample {i}") for i, item in enumerate(samples)], path)


def _ordered(points: list[TracePoint], path: Path) -> list[TracePoint]:
    for i in range(1, len(points)):
        if points[i].sample.t_s < points[i - 1].sample.t_s:
            raise UsageError(
                f"{path}, sample {i}: time goes back from {points[i - 1].sample.t_s:g} to {points[i].sample.t_s:g} s",
                fix="put the samples in the order of time",
            )
    return points


def _point(item: Any, where: str) -> TracePoint:
    if not isinstance(item, dict):
        raise UsageError(f"{where} is {item!r:.60}, expected an object", fix='such as {"t_s": 0, ...}')
    t_s = _number(item, "t_s", where, low=-math.inf)
    if t_s is None:
        raise UsageError(f"{where} has no t_s", fix="give every sample its time in seconds")
    available, free, swap = (
        None if (size := _number(item, key, where, high=_MAX_GIB)) is None else from_gib(size)
        for key in ("mem_available_gib", "mem_free_gib", "swap_used_gib")
    )
    psi = _number(item, "psi_full_avg10", where, high=100.0)
    return TracePoint(Sample(t_s, available, free, swap, psi), _label(item.get("phase"), where))


def _number(item: dict[str, Any], key: str, where: str, *, low: float = 0.0, high: float = math.inf) -> float | None:
    value = item.get(key)
    if value is None:
        return None
    fine = isinstance(value, int | float) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{where}: {key} is {value!r:.60}, expected a number >= 0", fix="correct the sample")
    return float(value)


def _label(label: Any, where: str) -> str | None:
    if label is not None and not isinstance(label, str):
        raise UsageError(f"{where}: phase is {label!r:.60}, expected text", fix="correct the sample")
    return label


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
