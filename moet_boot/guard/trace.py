"""Recorded samples: traces in JSON and the guard's own spools, read with errors that name the sample."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moet_boot.errors import UsageError
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import MAGIC, read_records
from moet_boot.phases import Phase
from moet_boot.units import from_gib

_MAX_BYTES = 64 << 20
_MAX_GIB = float(1 << 20)
_MAX_S = 1e12
_WORDS = (
    ("load", Phase.LOADING_WEIGHTS),
    ("plane", Phase.PLANES),
    ("profil", Phase.PROFILING),
    ("kv", Phase.KV_CACHE),
    ("graph", Phase.GRAPH_CAPTURE),
    ("warm", Phase.WARM_UP),
)
"""What people write for a phase, in any spelling."""


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
        return next((phase for word, phase in _WORDS if word in text), Phase.STARTING)


def load_trace(path: Path) -> list[TracePoint]:
    """Read a trace: a JSON list of samples, a document whose `boot_trace` is one, or a guard's spool.

    Raises UsageError, naming file and sample, for whatever is not a trace.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path} is larger than any trace ({_MAX_BYTES >> 20} MiB)", fix="pass a recorded trace")
        content = path.read_bytes()
        if content.startswith(MAGIC):
            return [TracePoint(sample, phase.value if phase else None) for sample, phase, _ in read_records(path)]
        body = json.loads(content)
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
    t_s = _number(item, "t_s", where, low=-_MAX_S, high=_MAX_S)
    if t_s is None:
        raise UsageError(f"{where} has no t_s", fix="give every sample its time in seconds")
    available, free, swap = (
        None if (size := _number(item, key, where, high=_MAX_GIB)) is None else from_gib(size)
        for key in ("mem_available_gib", "mem_free_gib", "swap_used_gib")
    )
    psi = _number(item, "psi_full_avg10", where, high=100.0)
    return TracePoint(Sample(t_s, available, free, swap, psi), _label(item.get("phase"), where))


def _number(item: dict[str, Any], key: str, where: str, *, low: float = 0.0, high: float) -> float | None:
    value = item.get(key)
    if value is None:
        return None
    # NaN compares false with everything, and a whole number may be too large for a float
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(
            f"{where}: {key} is {value!r:.60}, expected a number from {low:g} to {high:g}", fix="correct the sample"
        )
    return float(value)


def _label(label: Any, where: str) -> str | None:
    if label is not None and not isinstance(label, str):
        raise UsageError(f"{where}: phase is {label!r:.60}, expected text", fix="correct the sample")
    return label
