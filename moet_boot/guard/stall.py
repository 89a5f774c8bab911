"""Livelock: memory that no longer moves while the machine swaps or stalls. It does not recover by itself.

Source: field notes on unified memory, section 5 (UVM livelock) and policy 4.
"""

from dataclasses import dataclass, replace

from moet_boot.guard.floors import Floors
from moet_boot.guard.sample import Context, Sample
from moet_boot.units import format_bytes

MAX_GAP_S = 120.0
"""What happened in a longer gap between two samples is unknown and counts for nothing (people record once a minute)."""
PATIENCE = 2.0
"""A log line shows that somebody still runs: then stalls must last this many times longer."""
SOME_PRESSURE = 10.0
"""PSI full avg10 in percent that confirms a stall; a healthy box is below (field notes, policy 7)."""
SWAP_MOVES = 64 << 20
QUIET_STALL_S = 60.0
"""Without pressure and with swap at rest: as long as vLLM waits before it complains of a silent worker."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Since when what has not moved. Bytes and seconds."""

    last_s: float | None = None
    swap_baseline: int | None = None
    flat_level: int = 0
    flat_swap: int = 0
    flat_since: float | None = None
    pressed_since: float | None = None

    def swap_growth(self, sample: Sample) -> int:
        """Swap taken since the guard began: what was swapped out before is nobody's alarm."""
        if sample.swap_used is None or self.swap_baseline is None:
            return 0
        return sample.swap_used - self.swap_baseline


def watch_stall(stall: Stall, sample: Sample, floors: Floors) -> Stall:
    """What is known with one more sample."""
    if stall.last_s is not None and sample.t_s - stall.last_s > MAX_GAP_S:
        stall = replace(stall, flat_since=None, pressed_since=None)
    return replace(_pressure(_level(_swap(stall, sample), sample, floors), sample, floors), last_s=sample.t_s)


def _swap(stall: Stall, sample: Sample) -> Stall:
    used, baseline = sample.swap_used, stall.swap_baseline
    if used is None or (baseline is not None and baseline <= used):
        return stall
    return replace(stall, swap_baseline=used)


def _level(stall: Stall, sample: Sample, floors: Floors) -> Stall:
    if sample.available is None:
        return stall
    if stall.flat_since is not None and abs(sample.available - stall.flat_level) <= floors.stall_flat:
        return stall
    swap = stall.flat_swap if sample.swap_used is None else sample.swap_used
    return replace(stall, flat_level=sample.available, flat_swap=swap, flat_since=sample.t_s)


def _pressure(stall: Stall, sample: Sample, floors: Floors) -> Stall:
    if sample.psi_full_avg10 is None:
        return stall
    pressed = sample.psi_full_avg10 >= floors.stall_psi_full
    if pressed is (stall.pressed_since is not None):
        return stall
    return replace(stall, pressed_since=sample.t_s if pressed else None)


def find_stall(stall: Stall, sample: Sample, context: Context, floors: Floors, *, serving: bool) -> str | None:
    """Why the server is in a livelock, in words and numbers; None when it is not.

    A server that serves may be idle and swapped out, which is no alarm: there both swap growth and lasting
    pressure are needed.
    """
    return _pressed(stall, sample, context, floors, serving=serving) or (
        None if serving else _frozen(stall, sample, context, floors)
    )


def _patience(seconds: float, sample: Sample, context: Context) -> float:
    """How long a stall must last: longer while the engine still shows signs of life."""
    lively = context.progress_s is not None and sample.t_s - context.progress_s < seconds
    return seconds * PATIENCE if lively else seconds


def _pressed(stall: Stall, sample: Sample, context: Context, floors: Floors, *, serving: bool) -> str | None:
    if stall.pressed_since is None:
        return None
    lasted = sample.t_s - stall.pressed_since
    if lasted < _patience(floors.stall_seconds, sample, context):
        return None
    growth = stall.swap_growth(sample)
    if serving and growth <= floors.stall_swap_growth:
        return None
    swap = f", swap grew by {format_bytes(growth)}" if growth > 0 else ""
    return (
        f"livelock: all tasks stalled for memory (PSI full avg10 {sample.psi_full_avg10 or 0.0:.0f} %, limit "
        f"{floors.stall_psi_full:.0f} %) for {lasted:.0f} s{swap}; this does not recover by itself"
    )


def _frozen(stall: Stall, sample: Sample, context: Context, floors: Floors) -> str | None:
    growth = stall.swap_growth(sample)
    if stall.flat_since is None or growth <= floors.stall_swap_growth:
        return None
    moving = sample.swap_used is not None and sample.swap_used - stall.flat_swap >= SWAP_MOVES
    confirmed = moving or (sample.psi_full_avg10 or 0.0) >= SOME_PRESSURE
    seen = stall.flat_since if context.progress_s is None else max(stall.flat_since, context.progress_s)
    lasted = sample.t_s - seen
    if lasted < (floors.stall_seconds if confirmed else QUIET_STALL_S):
        return None
    return (
        f"livelock: no progress and MemAvailable within {format_bytes(floors.stall_flat)} of "
        f"{format_bytes(stall.flat_level)} for {lasted:.0f} s while swap grew by {format_bytes(growth)} since the "
        "launch"
    )
