"""A profile's floors in bytes, and their way to the guard process."""

import pytest

from moet_boot.guard.floors import Floors, floors_of
from moet_boot.phases import Phase
from moet_boot.profile.load import load_profile
from moet_boot.profile.model import GuardFloors
from moet_boot.units import GIB, from_gib

FULL = GuardFloors(
    hard_floor_gib=8,
    serving_floor_gib=4,
    serving_seconds=2.5,
    serving_hard_floor_gib=1.5,
    projection_seconds=0.75,
    projection_ceiling_gib=15,
    projection_rate_gib_s=2.25,
    relief=True,
    relief_free_gib=7,
    relief_cache_gib=3,
    relief_interval_s=2,
    stall_seconds=12,
    stall_psi_full=33,
    stall_swap_growth_gib=1.5,
    stall_flat_gib=0.25,
    phase_floors_gib={Phase.WARM_UP: 6},
    why="a test",
    source="a test",
)


def test_every_figure_arrives() -> None:
    assert floors_of(FULL) == Floors(
        hard_floor=8 * GIB,
        serving_floor=4 * GIB,
        serving_hard_floor=from_gib(1.5),
        serving_seconds=2.5,
        projection_seconds=0.75,
        projection_ceiling=15 * GIB,
        projection_rate=from_gib(2.25),
        relief=True,
        relief_free=7 * GIB,
        relief_cache=3 * GIB,
        relief_interval_s=2,
        stall_seconds=12,
        stall_psi_full=33,
        stall_swap_growth=from_gib(1.5),
        stall_flat=from_gib(0.25),
        phase_floors={Phase.WARM_UP: 6 * GIB},
    )


def test_no_figure_of_the_profile_is_forgotten() -> None:
    figures = set(GuardFloors.model_fields) - {"why", "source", "measured"}
    assert len(figures) == len(Floors.__dataclass_fields__)


@pytest.mark.parametrize("name", ["spark", "rtx6000-a", "rtx6000-b", "demo"])
def test_shipped_floors_travel_unchanged(name: str) -> None:
    floors = floors_of(load_profile(name).guard)
    assert Floors.from_json(floors.to_json()) == floors
    assert floors.serving_hard_floor <= floors.serving_floor <= floors.hard_floor <= floors.projection_ceiling


def test_phase_floors_travel_too() -> None:
    floors = Floors.from_json(floors_of(FULL).to_json())
    assert floors.boot_floor(Phase.WARM_UP) == 6 * GIB
    assert floors.boot_floor(Phase.KV_CACHE) == 8 * GIB
    assert floors.boot_floor(None) == 8 * GIB


def test_the_spark_may_relieve() -> None:
    assert floors_of(load_profile("spark").guard).relief
