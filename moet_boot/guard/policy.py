"""The guard's policy: a pure function from samples to an action. Nothing here reads, waits or kills.

Rules and constants follow the field notes on unified memory, section 8 ("Policy for our guard").
"""

import math
from dataclasses import dataclass, field, replace

from moet_boot.guard.fall import LONG_S, Track
from moet_boot.guard.floors import Floors
from moet_boot.guard.sample import NOTHING, Action, Context, Decision, Sample
from moet_boot.guard.stall import MAX_GAP_S, Stall, find_stall, watch_stall
from moet_boot.units import GIB, format_bytes

REST_LOOK_S = 0.25
"""How far apart samples are at rest (policy 1: a quarter of a second during a boot)."""
KILL_S = 0.1
"""From the decision to a dead server (scripts/bench_guard.py: a few ms to the signal, the rest is freeing)."""
KILL_S_PER_RATE = 0.02 / GIB
"""More caution the faster it falls, as with a braking distance: seconds per byte a second."""
STOP_GRACE_S = 5.0
"""After a TERM at the serving floor (field notes, section 7: `docker stop -t 5`, then KILL)."""
SAME_MOMENT_S = 1e-6
UNSURE = 0.75
"""Of the hard floor, while nobody said whether the server is up and memory sinks slowly: a server that serves may
sink below the floor of a boot. 6 GiB on a Spark, where a guard with that floor held (section 8, MEMWATCH)."""
SINKS_SLOWLY = 0.5
"""Of the projection rate: below it a fall is slow. A boot that fell by 1.8 GiB/s had to be stopped at 6.8 GiB
(section 5), and no server that serves was seen to sink so fast."""


@dataclass(frozen=True, slots=True)
class State:
    """What the policy remembers; a fixed amount, however long it runs."""

    last_s: float | None = None
    track: Track = field(default_factory=Track)
    stall: Stall = field(default_factory=Stall)
    began_low: bool | None = None
    low_since: float | None = None
    relieved_s: float | None = None
    stopped_s: float | None = None


@dataclass(frozen=True, slots=True)
class _View:
    """Everything that a rule may look at."""

    state: State
    sample: Sample
    available: int
    rate: float
    look_s: float
    serving: bool
    context: Context
    floors: Floors

    @property
    def floor(self) -> int:
        """The floor that one sample may not break."""
        if self.serving:
            return self.floors.serving_hard_floor
        floor = self.floors.boot_floor(self.context.phase)
        if self.context.phase is not None:
            return floor
        rate = self.state.track.fall_rate(self.sample.t_s, self.available, stale_s=math.inf)
        return floor if rate >= self.floors.projection_rate * SINKS_SLOWLY else int(floor * UNSURE)

    @property
    def where(self) -> str:
        return self.context.phase.words if self.context.phase else ("serving" if self.serving else "before readiness")


def decide(state: State, sample: Sample, context: Context, floors: Floors) -> tuple[Decision, State]:
    """What to do after one more sample, and what to remember.

    Samples come in the order of time. A sample without `available` can only confirm a lasting stall. Without a
    phase the boot is taken to be running, unless the first look already showed less than twice the hard floor: no
    boot starts there, so the server was already up. While nobody says so, a slow fall may go a little lower.
    """
    stall = watch_stall(state.stall, sample, floors)
    if sample.available is None:
        state = replace(state, stall=stall)
        return _without_memory(state, sample, context, floors), state
    began_low = sample.available < 2 * floors.hard_floor if state.began_low is None else state.began_low
    serving = context.serving or (context.phase is None and began_low)
    gap = 0.0 if state.last_s is None else sample.t_s - state.last_s
    state = replace(
        state,
        last_s=sample.t_s,
        stall=stall,
        began_low=began_low,
        low_since=_low_since(state, sample, floors, gap_s=gap, serving=serving),
    )
    rate = state.track.fall_rate(sample.t_s, sample.available)
    view = _View(state, sample, sample.available, rate, gap, serving, context, floors)
    decision = next((found for rule in _RULES if (found := rule(view))), NOTHING)
    return decision, _remember(state, sample, sample.available, decision)


def _without_memory(state: State, sample: Sample, context: Context, floors: Floors) -> Decision:
    why = find_stall(state.stall, sample, context, floors, serving=context.serving or bool(state.began_low))
    return Decision(Action.KILL, why) if why else NOTHING


def _low_since(state: State, sample: Sample, floors: Floors, *, gap_s: float, serving: bool) -> float | None:
    if not serving or sample.available is None or sample.available >= floors.serving_floor:
        return None
    if state.low_since is None or gap_s > MAX_GAP_S:
        return sample.t_s
    return state.low_since


def _remember(state: State, sample: Sample, available: int, decision: Decision) -> State:
    return replace(
        state,
        track=state.track.then(sample.t_s, available),
        relieved_s=sample.t_s if decision.action is Action.RELIEVE else state.relieved_s,
        stopped_s=sample.t_s if decision.action is Action.STOP else state.stopped_s,
    )


def _hard_floor(view: _View) -> Decision | None:
    if view.available >= view.floor:
        return None
    seen, floor = format_bytes(view.available), format_bytes(view.floor)
    return Decision(Action.KILL, f"MemAvailable {seen} is below the hard floor of {floor} ({view.where})")


def stopping_distance(rate: float, look_s: float, floors: Floors) -> float:
    """Bytes that a fall of `rate` bytes a second still takes before a kill can end it.

    That is: until the next look, or until a kill that starts now is over, whichever takes longer. A fall slower than
    the profile's projection rate counts for one look at rest at most, so that a gap in slow samples is no reason to
    kill.
    """
    longest_look = floors.projection_seconds if rate >= floors.projection_rate else REST_LOOK_S
    horizon = max(min(look_s, longest_look), KILL_S + rate * KILL_S_PER_RATE)
    return rate * min(horizon, floors.projection_seconds)


def _falling(view: _View) -> Decision | None:
    """A fall that would be through the floor before a later look could end it."""
    if view.rate <= 0.0 or view.available >= view.floors.projection_ceiling:
        return None
    ahead = stopping_distance(view.rate, view.look_s, view.floors)
    steep = view.rate >= view.floors.projection_rate
    if view.serving and steep and view.available < view.floors.serving_floor:
        # expected to go on for as long as it was seen to: a prefill takes its gigabyte at once, and then no more
        ahead = max(ahead, view.rate * min(LONG_S, view.floors.projection_seconds))
    if view.available - ahead >= view.floor:
        return None
    text = (
        f"MemAvailable {format_bytes(view.available)} falls by {format_bytes(view.rate)} a second and would pass "
        f"the hard floor of {format_bytes(view.floor)} before a kill can end it ({view.where})"
    )
    return Decision(Action.KILL, text)


def _livelock(view: _View) -> Decision | None:
    why = find_stall(view.state.stall, view.sample, view.context, view.floors, serving=view.serving)
    return Decision(Action.KILL, f"{why} ({view.where})") if why else None


def _unstoppable(view: _View) -> Decision | None:
    stopped = view.state.stopped_s
    if stopped is None or view.sample.t_s - stopped < STOP_GRACE_S:
        return None
    return Decision(Action.KILL, f"the server is still there {view.sample.t_s - stopped:.1f} s after it was stopped")


def _serving_floor(view: _View) -> Decision | None:
    since, floors = view.state.low_since, view.floors
    if since is None or view.state.stopped_s is not None:
        return None
    lasted = view.sample.t_s - since
    if lasted + SAME_MOMENT_S < floors.serving_seconds:
        return None
    text = (
        f"MemAvailable {format_bytes(view.available)} has been below the serving floor of "
        f"{format_bytes(floors.serving_floor)} for {lasted:.1f} s"
    )
    return Decision(Action.STOP, text)


def _cache_in_the_way(view: _View) -> Decision | None:
    floors, free = view.floors, view.sample.free
    if not floors.relief or view.serving or free is None or free >= floors.relief_free:
        return None
    if view.available - free <= floors.relief_cache:
        return None
    last = view.state.relieved_s
    if last is not None and view.sample.t_s - last + SAME_MOMENT_S < floors.relief_interval_s:
        return None
    text = (
        f"MemFree {format_bytes(free)} is below {format_bytes(floors.relief_free)} while MemAvailable is "
        f"{format_bytes(view.available)}: the page cache is in the driver's way"
    )
    return Decision(Action.RELIEVE, text)


_RULES = (_hard_floor, _falling, _livelock, _unstoppable, _serving_floor, _cache_in_the_way)
