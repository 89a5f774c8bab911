"""The floors that a host's own kills have taught."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.forecast.learned_floors import MOST, tighten
from moet_boot.phases import Phase
from moet_boot.profile.model import GuardFloors
from moet_boot.receipts.model import Attempt, GuardAction, PhaseRecord, PlanRecord, Receipt, Versions
from moet_boot.units import GIB

FLOORS = GuardFloors(
    why="w",
    source="s",
    hard_floor_gib=8,
    serving_floor_gib=4,
    serving_hard_floor_gib=2,
    phase_floors_gib={Phase.WARM_UP: 6},
)


def killed(
    lowest_gib: float | None,
    *,
    phase: Phase = Phase.KV_CACHE,
    action: str = "kill",
    before_gib: float | None = 110,
    profile: str = "spark",
) -> Receipt:
    def size(gib: float | None) -> int | None:
        return None if gib is None else round(gib * GIB)

    return Receipt(
        id="r",
        created_at="x",
        supervisor_pid=1,
        profile=profile,
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest="d", runtime="process"),
        attempts=[
            Attempt(
                started_at="x",
                available_before_bytes=size(before_gib),
                lowest_available_bytes=size(lowest_gib),
                phases=[PhaseRecord(phase=Phase.STARTING, started_s=0), PhaseRecord(phase=phase, started_s=1)],
                guard_actions=[GuardAction(at_s=1, action=action, reason="r")],
            )
        ],
    )


def hard(*receipts: Receipt) -> float:
    return tighten(FLOORS, receipts, "spark").floors.hard_floor_gib


@pytest.mark.parametrize(
    ("lows", "floor"),
    [
        ([], 8),
        ([7], 8),
        ([7, 7], 9),
        ([7.94, 7.91], 8.1),
        ([6, 7.5, 7.5], 8.5),
        ([7.5, 8.4, 12], 8),
        ([8.3, 8.2], 8),
        ([1, 1], 10),
        ([None, 7, 7], 9),
    ],
    ids=[
        "no kill",
        "one kill alone",
        "two",
        "rounded up",
        "the one far below alone",
        "one below, two above",
        "in time",
        "no more than a quarter",
        "not measured",
    ],
)
def test_the_floor_before_readiness(lows: list[float | None], floor: float) -> None:
    assert hard(*map(killed, lows)) == pytest.approx(floor)


@pytest.mark.parametrize(
    "unlike",
    [
        {"profile": "demo"},
        {"action": "stop"},
        {"action": "supervisor_gone"},
        {"action": "would kill"},
        {"before_gib": 7.5},
        {"before_gib": None},
        {"phase": Phase.SERVING},
        {"phase": Phase.WARM_UP},
    ],
    ids=lambda unlike: " ".join(map(str, *unlike.items())),
)
def test_what_shows_nothing_about_it(unlike: dict[str, Any]) -> None:
    assert hard(killed(7), killed(7, **unlike)) == 8


def test_a_phase_with_its_own_floor_is_measured_by_it() -> None:
    taught = tighten(FLOORS, [killed(5, phase=Phase.WARM_UP), killed(7)], "spark").floors
    assert taught.hard_floor_gib == 9
    assert taught.phase_floors_gib == {Phase.WARM_UP: 7}


def test_serving_is_learned_apart_and_stays_below_the_patient_floor() -> None:
    late = [killed(1.8, phase=Phase.SERVING)] * 2
    lesson = tighten(FLOORS, late, "spark")
    assert (lesson.floors.hard_floor_gib, lesson.floors.serving_hard_floor_gib) == (8, 2.2)
    assert lesson.floors.serving_floor_gib == 4
    assert "serving 2 -> 2.2 GiB" in lesson.reason
    narrow = FLOORS.model_copy(update={"serving_floor_gib": 2.1})
    assert tighten(narrow, late, "spark").floors.serving_hard_floor_gib == 2.1


def test_the_reason_has_the_figures() -> None:
    reason = tighten(FLOORS, [killed(7.25), killed(7)], "spark").reason
    assert "before readiness 8 -> 8.8 GiB" in reason
    assert "0.75 GiB below" in reason


def test_the_very_floors_of_the_profile_when_there_is_no_lesson() -> None:
    lesson = tighten(FLOORS, [killed(7)], "spark")
    assert lesson.floors is FLOORS
    assert lesson.reason == ""


def test_a_receipt_without_an_attempt_or_a_phase_teaches_nothing() -> None:
    empty = killed(7)
    empty.attempts[0].phases = []
    refused = killed(7)
    refused.attempts = []
    assert hard(empty, refused, killed(7)) == 8


@given(st.lists(st.floats(0, 120), max_size=6), st.floats(0, 120), st.sampled_from(list(Phase)))
def test_more_kills_never_lower_a_floor_and_no_floor_rises_by_more_than_a_quarter(
    lows: list[float], another: float, phase: Phase
) -> None:
    few = [killed(low, phase=phase) for low in lows]
    before, after = (tighten(FLOORS, past, "spark").floors for past in (few, [*few, killed(another, phase=phase)]))
    for name in ("hard_floor_gib", "serving_floor_gib", "serving_hard_floor_gib"):
        assert getattr(FLOORS, name) <= getattr(before, name) <= getattr(after, name)
        assert getattr(after, name) <= getattr(FLOORS, name) * (1 + MOST)
