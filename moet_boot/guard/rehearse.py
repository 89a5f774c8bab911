"""A rehearsal: the real guard ends a real fall of memory, on this machine, inside a limit that keeps it harmless."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.fall_record import FallRecord, observe
from moet_boot.guard.floors import Floors
from moet_boot.guard.handle import GuardHandle, start_guard
from moet_boot.guard.isolated import isolated
from moet_boot.guard.messages import Target
from moet_boot.guard.policy import State, decide
from moet_boot.guard.sample import Context, Sample
from moet_boot.guard.sampler import Sampler, next_look_s
from moet_boot.phases import Phase
from moet_boot.units import MIB, format_bytes, from_gib

LEAST = 512 * MIB
"""A shorter fall is over before it has a rate."""
TO_THE_FLOOR = 0.6
"""How much of the limit lies above the floor; the rest shows how far a late guard lets it fall."""
WORST_START = from_gib(34.0)
WORST_RATE = from_gib(21.3 / 1.5)
"""The worst recorded fall: 34.0 to 12.7 GiB in 1.5 s (field notes: unified memory, section 5)."""
FREEZE = from_gib(2.5)
"""Where a driver on unified memory was seen to spin for good (same section)."""


class DisturbedError(MoetBootError):
    """Another program moved the memory so much that nothing was measured: to be made again."""


@dataclass(frozen=True)
class Limit:
    """What a rehearsal may take and where its guard must act, in bytes."""

    available: int
    take: int
    floor: int


@dataclass(frozen=True)
class Worst:
    """The worst recorded fall, with the profile's floors and the reaction that was measured. Bytes, bytes a second."""

    rate: float
    acted_at: int
    lowest: int
    danger: int

    @property
    def held(self) -> bool:
        """Whether the machine would have lived."""
        return self.lowest > self.danger


@dataclass(frozen=True)
class Reaction:
    """What came after the guard's decision: bytes still taken, that in seconds of the fall, seconds until dead."""

    taken: int
    over_s: float
    dead_s: float


@dataclass(frozen=True)
class Rehearsal:
    """How it went. `reaction` and `worst` are None if the guard did not act."""

    limit: Limit
    fall: FallRecord
    reason: str
    reaction: Reaction | None
    worst: Worst | None
    unified: bool
    protection: str

    @property
    def passed(self) -> bool:
        """Whether the guard acted and, where a GPU driver is in the same pool, would have held in the worst fall."""
        return self.worst is not None and (self.worst.held or not self.unified)


def limit_for(available: int, *, most: int, asked: int | None = None) -> Limit:
    """Half of what is available, or `asked`; never more than `most` (the profile's forecast minus its floor).

    Raises UsageError when more was asked for than may be taken, MoetBootError when there is too little for any
    rehearsal.
    """
    allowed = min(available // 2, most)
    if asked is not None and asked > allowed:
        raise UsageError(
            f"a rehearsal may take {format_bytes(allowed)} here, {format_bytes(asked)} was asked for",
            fix=f"ask for less: half of what is available ({format_bytes(available)}) stays free",
        )
    take = allowed if asked is None else asked
    if take < LEAST:
        raise MoetBootError(
            f"{format_bytes(take)} are too little for a rehearsal; it needs {format_bytes(LEAST)}",
            fix=f"free some memory: {format_bytes(available)} are available",
        )
    return Limit(available, take, available - int(take * TO_THE_FLOOR))


def rehearsal_floors(floors: Floors, limit: Limit) -> Floors:
    """The profile's floors with the hard floor moved up to where the rehearsal has it; everything else is real."""
    return replace(floors, hard_floor=limit.floor, phase_floors={}, projection_ceiling=limit.available, relief=False)


def rehearse(floors: Floors, folder: Path, *, most: int, unified: bool, asked: int | None = None) -> Rehearsal:
    """Let a child take memory at full speed and the real guard end it. Sizes in bytes; files go to `folder`.

    `most`: never take more than this; `unified`: the GPU's driver takes from the same pool. What is measured is
    ordinary memory: how fast a driver lets go shows on its own machine only. Raises as `limit_for` and `start_guard`,
    and DisturbedError.
    """
    eyes = Sampler(time.monotonic)
    try:
        limit = limit_for(eyes.read().available or 0, most=most, asked=asked)
        with _guard(rehearsal_floors(floors, limit), folder) as handle:
            return _fall(handle, eyes, limit, floors, unified=unified)
    finally:
        eyes.close()


@contextmanager
def _guard(floors: Floors, folder: Path) -> Iterator[GuardHandle]:
    handle = start_guard(GuardConfig(floors, folder / "rehearsal.spool", folder / "rehearsal.ndjson", origin_s=0.0))
    try:
        yield handle
    finally:
        handle.stop()


def start_hog(take: int) -> "subprocess.Popen[bytes]":
    """A child that takes so many bytes as soon as a byte comes down its standard input."""
    return subprocess.Popen(isolated("moet_boot.guard.hog", str(take)), stdin=subprocess.PIPE, start_new_session=True)


def let_go(hog: "subprocess.Popen[bytes]") -> None:
    """Give the hog its byte; raises DisturbedError when the guard has ended it before that."""
    if hog.stdin is None:
        return
    try:
        hog.stdin.write(b"\n")
        hog.stdin.close()
    except BrokenPipeError:
        raise DisturbedError(
            "another program took so much memory that the guard acted before the rehearsal began",
            fix="rehearse on a quieter machine",
        ) from None


def _fall(handle: GuardHandle, eyes: Sampler, limit: Limit, floors: Floors, *, unified: bool) -> Rehearsal:
    hog = start_hog(limit.take)
    try:
        handle.guard(Target((hog.pid,)))
        fall = observe(eyes, hog.pid, limit.floor, go=lambda: let_go(hog), status=hog.wait)
    finally:
        hog.kill()
        hog.wait()
    act = next((event for event in handle.poll_events() if event.action == "kill"), None)
    if act is None and not fall.crossed:
        # free pages on the processors' own lists are in no figure of meminfo, and whoever takes memory gets them first
        raise DisturbedError(
            f"memory fell by less than the child took: to {format_bytes(fall.lowest)} available, and the floor of the"
            f" rehearsal is {format_bytes(limit.floor)}",
            fix="another program gave memory back, or the kernel had some in no figure: rehearse again, or take more",
        )
    reaction = worst = None
    if act is not None and fall.killed:
        reaction = reaction_of(act.at_s, handle.samples(), fall)
        worst = worst_fall(floors, reaction.over_s, danger=FREEZE if unified else 0)
    return Rehearsal(limit, fall, act.reason if act else "", reaction, worst, unified, handle.protection)


def reaction_of(decided_s: float, samples: Sequence[Sample], fall: FallRecord) -> Reaction:
    """How much further memory fell after a decision. `samples` are the guard's, on the same clock as `fall`."""
    seen = next((s.available for s in reversed(samples) if s.t_s <= decided_s and s.available is not None), fall.lowest)
    taken = max(0, seen - fall.lowest)
    return Reaction(taken, taken / fall.rate if fall.rate > 0 else 0.0, fall.dead_s - decided_s)


def worst_fall(floors: Floors, over_s: float, *, danger: int) -> Worst:
    """The worst recorded fall under these floors: where the guard would act, and how low it goes in `over_s` more.

    Pure: the policy runs over the fall at the guard's own rate of looking.
    """
    state, t_s, size = State(), 0.0, WORST_START
    while size > 0:
        decision, state = decide(state, Sample(t_s, size), Context(Phase.PROFILING), floors)
        if decision.action.ends_server:
            break
        t_s += next_look_s(size - floors.boot_floor(Phase.PROFILING))
        size = WORST_START - int(WORST_RATE * t_s)
    return Worst(WORST_RATE, size, max(0, size - int(WORST_RATE * over_s)), danger)
