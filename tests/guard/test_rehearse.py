"""Rehearsals: the limit, the arithmetic of a fall, and one real and small one."""

import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.guard.fall_record import FallRecord, judge
from moet_boot.guard.floors import floors_of
from moet_boot.guard.isolated import isolated
from moet_boot.guard.rehearse import (
    FREEZE,
    LEAST,
    WORST_RATE,
    DisturbedError,
    Limit,
    Reaction,
    Rehearsal,
    Worst,
    let_go,
    limit_for,
    reaction_of,
    rehearsal_floors,
    rehearse,
    worst_fall,
)
from moet_boot.profile.load import load_profile
from moet_boot.units import GIB, MIB, from_gib
from tests.guard.scenes import SPARK, look

FALL = FallRecord(True, 7 * GIB, 0, False, 0.05, 4.0 * GIB, 11.0)


class TestLimit:
    def test_half_of_what_is_available(self) -> None:
        assert limit_for(20 * GIB, most=96 * GIB).take == 10 * GIB

    def test_never_more_than_the_forecast_minus_the_floor(self) -> None:
        assert limit_for(110 * GIB, most=3 * GIB).take == 3 * GIB

    def test_less_if_that_was_asked_for(self) -> None:
        limit = limit_for(20 * GIB, most=96 * GIB, asked=5 * GIB)
        assert (limit.take, limit.floor) == (5 * GIB, 17 * GIB)

    @pytest.mark.parametrize(("available", "most"), [(20 * GIB, 4 * GIB), (9 * GIB, 96 * GIB)])
    def test_not_more_if_that_was_asked_for(self, available: int, most: int) -> None:
        with pytest.raises(UsageError, match=r"may take 4\.\d0 GiB here, 5\.00 GiB was asked for"):
            limit_for(available, most=most, asked=5 * GIB)

    @pytest.mark.parametrize(
        ("available", "most", "asked"),
        [(MIB * 900, GIB * 9, None), (9 * GIB, MIB * 100, None), (9 * GIB, -GIB, None), (9 * GIB, 9 * GIB, MIB)],
        ids=["a small machine", "a small boot", "a forecast below its floor", "almost nothing asked for"],
    )
    def test_too_little(self, available: int, most: int, asked: int | None) -> None:
        with pytest.raises(MoetBootError, match="too little for a rehearsal"):
            limit_for(available, most=most, asked=asked)

    @given(st.integers(0, 1 << 42), st.integers(-(1 << 40), 1 << 42))
    def test_at_least_half_stays_free_whatever_happens(self, available: int, most: int) -> None:
        try:
            limit = limit_for(available, most=most)
        except MoetBootError:
            assert min(available // 2, most) < LEAST
            return
        assert limit.take <= min(available / 2, most)
        assert available - limit.take < limit.floor < available


def test_only_the_floor_is_moved() -> None:
    floors = rehearsal_floors(SPARK, Limit(20 * GIB, 10 * GIB, 14 * GIB))
    moved = replace(
        floors, hard_floor=SPARK.hard_floor, projection_ceiling=SPARK.projection_ceiling, relief=SPARK.relief
    )
    assert floors.hard_floor == 14 * GIB
    assert moved == SPARK


class TestJudge:
    def curve(self, low: float, *, start: float = 10.0) -> list[tuple[float, int]]:
        """Falls by 4 GiB/s from `start` to `low`, then comes back."""
        down = [(i / 100, from_gib(start - i / 25)) for i in range(int((start - low) * 25) + 1)]
        return [*down, *((down[-1][0] + i / 10, from_gib(start)) for i in range(1, 5))]

    def test_a_fall_through_the_floor(self) -> None:
        fall = judge(self.curve(7.0), 0.85, from_gib(7.2), killed=True)
        assert fall.crossed
        assert fall.undershoot == pytest.approx(from_gib(0.2), abs=1)
        assert fall.late_s == pytest.approx(0.85 - 0.7, abs=0.02)
        assert fall.rate == pytest.approx(4 * GIB, rel=0.01)

    def test_a_fall_that_ended_above_it(self) -> None:
        fall = judge(self.curve(7.0), 0.85, from_gib(6.6), killed=True)
        assert not fall.crossed
        assert fall.undershoot == 0
        assert fall.late_s == pytest.approx(0.85 - 0.85, abs=0.02)

    def test_no_fall_at_all(self) -> None:
        fall = judge([(0.0, GIB), (0.1, GIB)], 0.2, GIB // 2, killed=False)
        assert (fall.rate, fall.undershoot, fall.crossed) == (0.0, 0, False)


class TestReaction:
    def test_what_was_taken_after_the_decision(self) -> None:
        samples = [look(9.0, 9), look(10.0, 7.5), look(10.5, 7.1)]
        assert reaction_of(10.0, samples, FALL) == Reaction(from_gib(0.5), 0.125, 1.0)

    def test_nothing_was(self) -> None:
        assert reaction_of(10.0, [look(10.0, 6.9)], FALL) == Reaction(0, 0.0, 1.0)

    def test_nothing_is_known(self) -> None:
        assert reaction_of(10.0, [], FALL).taken == 0


class TestWorstFall:
    @pytest.mark.parametrize("over_s", [0.0, 0.05, 0.2, 0.5])
    def test_a_spark_holds_if_the_kill_takes_half_a_second(self, over_s: float) -> None:
        worst = worst_fall(floors_of(load_profile("spark").guard), over_s, danger=FREEZE)
        assert worst.held
        assert worst.acted_at >= from_gib(8)
        assert worst.lowest == worst.acted_at - int(WORST_RATE * over_s)

    def test_but_not_if_it_takes_two(self) -> None:
        worst = worst_fall(floors_of(load_profile("spark").guard), 2.0, danger=FREEZE)
        assert not worst.held
        assert worst.lowest == 0


def rehearsal(worst: Worst | None, *, unified: bool) -> Rehearsal:
    reaction = None if worst is None else Reaction(0, 0.0, 0.1)
    return Rehearsal(Limit(9, 4, 6), FALL, "", reaction, worst, unified, "memory locked")


@pytest.mark.parametrize(
    ("worst", "unified", "passed"),
    [
        (Worst(1.0, 9, 5, 2), True, True),
        (Worst(1.0, 9, 2, 2), True, False),
        (Worst(1.0, 9, 2, 2), False, True),
        (None, True, False),
        (None, False, False),
    ],
    ids=["held", "not held", "not held, but no driver in the pool", "did not act", "did not act on a host"],
)
def test_when_a_rehearsal_is_passed(worst: Worst | None, unified: bool, passed: bool) -> None:
    assert rehearsal(worst, unified=unified).passed is passed


def test_a_hog_waits_takes_and_lets_go() -> None:
    hog = subprocess.Popen(isolated("moet_boot.guard.hog", str(24 * MIB)), stdin=subprocess.PIPE)
    assert hog.poll() is None
    hog.communicate(b"\n", timeout=10)
    assert hog.returncode == 0


TAKEN = 1024 * MIB
"""More than what ends elsewhere usually gives back meanwhile."""


def calmly(rehearsal: Callable[[], Rehearsal], tries: int = 10) -> Rehearsal:
    """Other programs take memory and give it back at the same time: a rehearsal that they disturb is made again."""
    for _ in range(tries - 1):
        with suppress(DisturbedError):
            return rehearsal()
        time.sleep(2.0)
    return rehearsal()


def test_a_hog_that_was_ended_before_it_began_is_told() -> None:
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as hog:
        hog.wait()
        with pytest.raises(DisturbedError, match="before the rehearsal began"):
            let_go(hog)
        hog.stdin = None


@pytest.mark.slow
def test_a_real_one_on_this_machine(tmp_path: Path) -> None:
    spark = floors_of(load_profile("spark").guard)
    result = calmly(lambda: rehearse(spark, tmp_path, most=96 * GIB, unified=True, asked=TAKEN))
    assert result.fall.killed, "the hog was killed, and did not end by itself"
    assert result.reaction is not None
    assert "falls by" in result.reason or "below the hard floor" in result.reason
    assert 0 < result.reaction.dead_s < 5
    assert result.worst is not None
    assert result.worst.acted_at >= from_gib(8)
    assert result.protection.startswith("memory ")


@pytest.mark.slow
def test_a_guard_that_only_watches_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal can fail: here the guard's own floor lies where nobody comes."""
    blind = replace(floors_of(load_profile("demo").guard), hard_floor=1, phase_floors={}, projection_ceiling=0)
    monkeypatch.setattr("moet_boot.guard.rehearse.rehearsal_floors", lambda _floors, _limit: blind)
    result = calmly(lambda: rehearse(blind, tmp_path, most=96 * GIB, unified=False, asked=TAKEN))
    assert (result.reaction, result.worst, result.reason) == (None, None, "")
    assert result.fall.crossed
    assert not result.fall.killed
    assert not result.passed


@pytest.mark.slow
def test_a_fall_that_another_program_makes_up_for_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet_boot.guard.rehearse.TO_THE_FLOOR", 20.0)
    with pytest.raises(DisturbedError, match="fell by less than the child took"):
        rehearse(floors_of(load_profile("demo").guard), tmp_path, most=96 * GIB, unified=False, asked=TAKEN)
