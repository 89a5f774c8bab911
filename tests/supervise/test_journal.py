"""A receipt while its boot goes on: what happens to it when the disk is full or an error ends it all."""

import errno
import os
from pathlib import Path

import pytest

from moet_boot.errors import BusyError, MoetBootError
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint
from moet_boot.supervise.journal import CURVE_POINTS
from tests.supervise.fakes import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fill_the_disk(patch: pytest.MonkeyPatch) -> None:
    """What is written does not reach the disk: there is no free block."""

    def no_space(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(os, "fsync", no_space)


def test_no_attempt_begins_without_a_receipt(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_the_disk(monkeypatch)
    with pytest.raises(MoetBootError, match=r"cannot write the receipt .*: No space left on device"):
        world.journal.begin_attempt()


def test_a_disk_that_fills_up_later_is_told_once_and_ends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    world.journal.complain = heard.append
    world.journal.begin_attempt()
    with monkeypatch.context() as full:
        fill_the_disk(full)
        world.journal.enter_phase(Phase.KV_CACHE, 1.0)
        world.journal.ready(2.0)
        world.journal.begin_attempt()
        world.journal.finish("stopped", "x", 143)
    assert len(heard) == 1
    assert "No space left on device" in heard[0]
    assert world.on_disk().attempts[0].ready_after_s is None
    assert not list(world.folder.rglob("*.tmp"))


def test_what_was_missed_is_written_when_there_is_room_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    world.journal.complain = heard.append
    world.journal.begin_attempt()
    for _ in range(2):
        with monkeypatch.context() as full:
            fill_the_disk(full)
            world.journal.ready(2.0)
        world.journal.answer("hello")
        assert (world.on_disk().first_answer, world.on_disk().attempts[0].ready_after_s) == ("hello", 2.0)
    assert len(heard) == 2, "each time that it begins"


def samples(*points: tuple[float, int]) -> list[CurvePoint]:
    return [CurvePoint(t_s=t, available_bytes=size, free_bytes=0) for t, size in points]


def test_the_boot_stays_in_the_receipt_when_the_guards_ring_has_lost_it(world: World) -> None:
    world.memory.available = 100
    world.journal.begin_attempt()
    world.journal.enter_phase(Phase.SERVING, 5.0)
    world.journal.ready(5.0, samples((0, 90), (1, 20), (2, 60), (5, 50)))
    assert world.on_disk().attempts[0].lowest_available_bytes == 20, "already known while it serves"
    days = [(100_000.0 + i, 40 + i % 7) for i in range(5000)]
    world.journal.end_attempt(200_000.0, server_exit=None, failure=None, curve=samples(*days))
    attempt = world.on_disk().attempts[0]
    assert [(p.t_s, p.available_bytes) for p in attempt.curve[:4]] == [(0, 90), (1, 20), (2, 60), (5, 50)]
    assert attempt.curve[-1].t_s == days[-1][0]
    assert 500 < len(attempt.curve) <= 4 + CURVE_POINTS
    assert [p.peak_host_bytes for p in attempt.phases] == [80, 60]
    assert attempt.lowest_available_bytes == 20


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (MoetBootError("the memory guard did not start: x", fix="y"), 1, "the memory guard did not start: x"),
        (BusyError("port 9 is taken"), 10, "port 9 is taken"),
        (KeyError("z"), 70, "bug in moet-boot: KeyError: 'z'"),
    ],
    ids=["known", "busy", "bug"],
)
def test_an_error_closes_the_receipt(world: World, error: Exception, code: int, reason: str) -> None:
    world.journal.begin_attempt()
    with pytest.raises(type(error)), world.journal.told():
        raise error
    receipt = world.on_disk()
    assert (receipt.outcome, receipt.exit_code, receipt.outcome_reason) == ("failed", code, reason)


def test_without_an_error_it_is_left_alone(world: World) -> None:
    world.journal.begin_attempt()
    with world.journal.told():
        pass
    assert world.on_disk().outcome == "running"
