"""`moet-boot rehearse`: what it passes on, what it shows, how it ends."""

import json
from typing import Any

import pytest

from moet_boot.cli.main import run
from moet_boot.guard import rehearse as domain
from moet_boot.guard.fall_record import FallRecord
from moet_boot.guard.rehearse import Limit, Reaction, Rehearsal, Worst
from moet_boot.units import GIB, from_gib

FALL = FallRecord(True, from_gib(16.9), 0, False, 0.08, 2.5 * GIB, 11.0)
REACTION = Reaction(9 << 20, 0.012, 0.09)
HELD = Worst(14.2 * GIB, from_gib(15.2), from_gib(15.0), from_gib(2.5))


class Stage:
    """Stands in for the real rehearsal, and keeps what it was asked for."""

    def __init__(self, worst: Worst | None, *, unified: bool = True) -> None:
        reaction = REACTION if worst else None
        self.result = Rehearsal(
            Limit(20 * GIB, 5 * GIB, 17 * GIB), FALL, "falls by 2.50 GiB", reaction, worst, unified, "memory locked"
        )
        self.asked: dict[str, Any] = {}

    def __call__(self, floors: Any, folder: Any, **settings: Any) -> Rehearsal:
        assert folder.is_dir()
        self.asked = {"floors": floors, **settings}
        return self.result


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stage:
    made = Stage(getattr(request, "param", HELD))
    monkeypatch.setattr(domain, "rehearse", made)
    return made


def test_takes_at_most_the_forecast_minus_the_floor(stage: Stage) -> None:
    assert run(["rehearse", "--profile", "spark"]) == 0
    assert stage.asked["floors"].hard_floor == 8 * GIB
    assert 80 * GIB < stage.asked["most"] < 108 * GIB
    assert stage.asked["unified"] is True
    assert stage.asked["asked"] is None


def test_less_on_request(stage: Stage) -> None:
    assert run(["rehearse", "--profile", "demo", "--take-gib", "1.5"]) == 0
    assert stage.asked["asked"] == from_gib(1.5)
    assert stage.asked["unified"] is False


def test_the_document(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "--profile", "spark", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "moet-boot/rehearse/v1",
        "profile": "spark",
        "passed": True,
        "acted": True,
        "available_bytes": 20 * GIB,
        "limit_bytes": 5 * GIB,
        "floor_bytes": 17 * GIB,
        "lowest_bytes": from_gib(16.9),
        "undershoot_bytes": 0,
        "fall_bytes_per_s": from_gib(2.5),
        "taken_after_decision_bytes": 9 << 20,
        "decision_to_fall_over_s": 0.012,
        "decision_to_dead_s": 0.09,
        "crossing_to_dead_s": 0.08,
        "reason": "falls by 2.50 GiB",
        "protection": "memory locked",
        "worst_recorded_fall": {
            "fall_bytes_per_s": from_gib(14.2),
            "acted_at_bytes": from_gib(15.2),
            "lowest_bytes": from_gib(15.0),
            "danger_bytes": from_gib(2.5),
            "held": True,
        },
    }


def test_for_people(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "--profile", "spark"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "9.0 MiB more taken (12 ms of the fall), dead after 90 ms" in shown
    assert "it would act at 15.20 GiB" in shown
    assert shown.endswith("it would hold")


@pytest.mark.parametrize(
    ("stage", "words"),
    [(Worst(14.2 * GIB, from_gib(9), GIB, from_gib(2.5)), "it would NOT hold"), (None, "did NOT end the fall")],
    indirect=["stage"],
    ids=["would not hold", "did not act"],
)
def test_a_rehearsal_that_fails_ends_with_1(stage: Stage, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "--profile", "spark"]) == 1
    assert words in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "arguments",
    [["--profile", "nope"], ["--profile", "spark", "--take-gib", "0.1"], []],
    ids=["no such profile", "too little", "no profile"],
)
def test_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", *arguments]) == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_more_than_may_be_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "--profile", "spark", "--take-gib", "100000"]) == 2
    assert "a rehearsal may take" in capsys.readouterr().err
