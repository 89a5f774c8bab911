"""The guard's floors, tightened by what this host's own kills have shown (design, section 6). Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.phases import Phase
from moet_boot.profile.model import GuardFloors
from moet_boot.receipts.model import Attempt, Receipt
from moet_boot.units import GIB, from_gib

MOST = 0.25
"""How much a floor rises at most, as a share of it: healthy boots were seen to level off not far above (field notes
on unified memory, section 5), and a guard that kills them is no better than one that comes too late."""
STEP_GIB = 0.1
CONFIRMED_BY = 2
"""Kills that must have gone below the floor: one alone may show some other program that took memory meanwhile."""


@dataclass(frozen=True)
class Lesson:
    """The floors to work with, and why they are not the profile's own; no reason when they are."""

    floors: GuardFloors
    reason: str = ""


def tighten(floors: GuardFloors, receipts: Iterable[Receipt], profile: str) -> Lesson:
    """Raise the floors by as much as memory went below them when the guard had to kill on this host.

    Before readiness and while serving are learned apart. A boot that began below its floor shows nothing.
    """
    kills = [found for receipt in receipts if receipt.profile == profile for found in _kills(receipt, floors)]
    boot = _confirmed([below for phase, below in kills if phase is not Phase.SERVING])
    serving = _confirmed([below for phase, below in kills if phase is Phase.SERVING])
    if not boot and not serving:
        return Lesson(floors)
    raised = floors.model_copy(
        update={
            "hard_floor_gib": _raised(floors.hard_floor_gib, boot),
            "phase_floors_gib": {
                phase: _raised(floor, serving if phase is Phase.SERVING else boot)
                for phase, floor in floors.phase_floors_gib.items()
            },
            "serving_hard_floor_gib": min(
                _raised(floors.serving_hard_floor_gib, serving),
                max(floors.serving_floor_gib, floors.serving_hard_floor_gib),
            ),
        }
    )
    return Lesson(raised, _reason(floors, raised, max(boot, serving)))


def _kills(receipt: Receipt, floors: GuardFloors) -> list[tuple[Phase, int]]:
    """For each attempt that the guard killed: its phase then, and the bytes that memory went below the floor."""
    found = []
    for attempt in receipt.attempts:
        if not attempt.phases or not any(action.action == "kill" for action in attempt.guard_actions):
            continue
        phase = attempt.phases[-1].phase
        floor = _floor(floors, phase)
        if attempt.lowest_available_bytes is not None and _began_above(attempt, floor):
            found.append((phase, floor - attempt.lowest_available_bytes))
    return found


def _began_above(attempt: Attempt, floor: int) -> bool:
    return attempt.available_before_bytes is not None and attempt.available_before_bytes >= floor


def _floor(floors: GuardFloors, phase: Phase) -> int:
    usual = floors.serving_hard_floor_gib if phase is Phase.SERVING else floors.hard_floor_gib
    return from_gib(usual if phase is Phase.SERVING else floors.phase_floors_gib.get(phase, usual))


def _confirmed(below: list[int]) -> int:
    """What so many kills have gone below at least, in bytes; 0 when too few have."""
    return max(0, sorted(below, reverse=True)[CONFIRMED_BY - 1]) if len(below) >= CONFIRMED_BY else 0


def _raised(floor_gib: float, by: int) -> float:
    if not by:
        return floor_gib
    step = math.ceil(by / GIB / STEP_GIB - 1e-6) * STEP_GIB
    return round(min(floor_gib + step, floor_gib * (1 + MOST)), 3)


def _reason(before: GuardFloors, after: GuardFloors, below: int) -> str:
    changes = [
        f"{words} {old:g} -> {new:g} GiB"
        for words, old, new in (
            ("before readiness", before.hard_floor_gib, after.hard_floor_gib),
            ("serving", before.serving_hard_floor_gib, after.serving_hard_floor_gib),
        )
        if old != new
    ]
    return (
        f"kill floors raised ({', '.join(changes)}): on this host memory went {below / GIB:.2f} GiB below those of the "
        "profile when the guard had to kill"
    )
