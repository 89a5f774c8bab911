"""The limits that the guard works with, in bytes and seconds: a profile's floors without pydantic.

The guard process imports the standard library only, so that it stays small and starts fast.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from moet_boot.phases import Phase
from moet_boot.units import from_gib

if TYPE_CHECKING:
    from moet_boot.profile.model import GuardFloors


@dataclass(frozen=True)
class Floors:
    """When the guard acts. Sizes in bytes, rates in bytes a second; meanings as in `GuardFloors`."""

    hard_floor: int
    serving_floor: int
    serving_hard_floor: int
    serving_seconds: float = 3.0
    projection_seconds: float = 1.0
    projection_ceiling: int = from_gib(16)
    projection_rate: int = from_gib(2)
    relief: bool = False
    relief_free: int = from_gib(8)
    relief_cache: int = from_gib(2)
    relief_interval_s: float = 1.0
    stall_seconds: float = 15.0
    stall_psi_full: float = 35.0
    stall_swap_growth: int = from_gib(1)
    stall_flat: int = from_gib(0.5)
    phase_floors: dict[Phase, int] = field(default_factory=dict)

    def boot_floor(self, phase: Phase | None) -> int:
        """The floor that one sample may not break before readiness: the phase's own, else the common one."""
        if phase is None or phase not in self.phase_floors:
            return self.hard_floor
        return self.phase_floors[phase]

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Floors:
        """The floors of `to_json`; raises ValueError, KeyError or TypeError for anything else."""
        body: dict[str, Any] = json.loads(text)
        phases = {Phase(name): int(size) for name, size in body.pop("phase_floors", {}).items()}
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in known}, phase_floors=phases)


def floors_of(guard: GuardFloors) -> Floors:
    """A profile's floors in bytes."""
    return Floors(
        hard_floor=from_gib(guard.hard_floor_gib),
        serving_floor=from_gib(guard.serving_floor_gib),
        serving_hard_floor=from_gib(guard.serving_hard_floor_gib),
        serving_seconds=guard.serving_seconds,
        projection_seconds=guard.projection_seconds,
        projection_ceiling=from_gib(guard.projection_ceiling_gib),
        projection_rate=from_gib(guard.projection_rate_gib_s),
        relief=guard.relief,
        relief_free=from_gib(guard.relief_free_gib),
        relief_cache=from_gib(guard.relief_cache_gib),
        relief_interval_s=guard.relief_interval_s,
        stall_seconds=guard.stall_seconds,
        stall_psi_full=guard.stall_psi_full,
        stall_swap_growth=from_gib(guard.stall_swap_growth_gib),
        stall_flat=from_gib(guard.stall_flat_gib),
        phase_floors={phase: from_gib(size) for phase, size in guard.phase_floors_gib.items()},
    )
