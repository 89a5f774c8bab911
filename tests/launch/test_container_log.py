"""The follower against engines that break, go away and come back."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.launch import container_log
from moet_boot.launch.container_log import EngineLog, LogFollower
from moet_boot.launch.docker_engine import EngineSilentError
from testing.fake_engine import FakeEngine, any_engine


def line(index: int) -> bytes:
    return f"2026-11-29T15:36:43.{index:09d}Z line {index}\n".encode()


class Stream:
    """Frames, and then the end, or an error, or nothing until it is closed."""

    def __init__(self, frames: list[bytes], error: Exception | None = None, hangs: bool = False) -> None:
        self.frames, self.error, self.hangs = frames, error, hangs
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield from self.frames
        if self.error:
            raise self.error
        if self.hangs:
            self.closed.wait(10)
            raise OSError("closed by another thread")

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    yield descriptor
    os.close(descriptor)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_log, "AGAIN_S", 0.001)


def content(descriptor: int) -> bytes:
    return os.pread(descriptor, 1 << 20, 0)


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.001)


def test_a_broken_engine_costs_no_line(target: int) -> None:
    answers: list[Stream | Exception] = [
        MoetBootError("not there yet"),
        Stream([line(0), line(1)], ConnectionError("the daemon died")),
        EngineSilentError("still away"),
        Stream([line(0), line(1), line(2)], ValueError("half a frame")),
        Stream([line(1), line(2), line(3)]),
    ]
    asked: list[float | None] = []

    def open_log(since: float | None) -> Stream:
        asked.append(since)
        answer = answers.pop(0) if answers else Stream([line(i) for i in range(4)])
        if isinstance(answer, Exception):
            raise answer
        return answer

    follower = LogFollower(open_log, target)
    follower.start()
    wait_for(lambda: len(asked) > 5)
    follower.container_ended()
    wait_for(lambda: follower.drained)
    follower.close()
    assert content(target) == b"line 0\nline 1\nline 2\nline 3\n"
    assert follower.away_at is not None
    assert asked[:2] == [None, None]
    assert all(isinstance(since, float) for since in asked[2:])


def test_an_end_that_was_read_before_the_container_ended_is_no_proof(target: int) -> None:
    lines = [line(0)]
    follower = LogFollower(lambda _since: Stream(list(lines)), target)
    follower.start()
    wait_for(lambda: content(target) == b"line 0\n")
    assert not follower.drained
    lines.append(line(1))
    follower.container_ended()
    wait_for(lambda: follower.drained)
    follower.close()
    assert content(target) == b"line 0\nline 1\n"
    assert follower.away_at is None


def test_a_reader_that_hangs_is_woken_and_left(target: int) -> None:
    stream = Stream([line(0)], hangs=True)
    follower = LogFollower(lambda _since: stream, target)
    follower.start()
    wait_for(lambda: content(target) == b"line 0\n")
    follower.close()
    assert stream.closed.is_set()
    assert not follower.drained
    follower.close()


def test_a_full_disk_is_told_and_ends_nothing(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        follower = LogFollower(lambda _since: Stream([line(0)]), full.fileno())
        follower.start()
        follower.container_ended()
        wait_for(lambda: follower.drained)
        follower.close()
    assert follower.trouble == "lines of the log are lost: No space left on device"


def test_closing_before_the_start_leaves_nothing_open(target: int) -> None:
    follower = LogFollower(lambda _since: Stream([line(0)]), target)
    follower.close()
    assert not follower.drained
    assert content(target) == b""
    still_open = [
        int(fd.name) for fd in Path("/proc/self/fd").iterdir() if fd.exists() and fd.samefile(f"/dev/fd/{target}")
    ]
    assert still_open == [target]


def test_each_log_has_a_connection_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    closed: list[str] = []

    class Engine(FakeEngine):
        def close(self) -> None:
            closed.append("closed")

    (tmp_path / "printed").write_bytes(b"one\ntwo\n")
    log = EngineLog(any_engine(Engine(tmp_path)), "c1", None)
    assert len(list(log)) == 2
    assert closed == ["closed"]


def test_a_log_that_cannot_be_opened_leaves_no_connection() -> None:
    closed: list[str] = []

    class Engine(FakeEngine):
        def logs(self, container: str, since: float | None) -> NoReturn:
            raise EngineSilentError("away")

        def close(self) -> None:
            closed.append("closed")

    with pytest.raises(EngineSilentError):
        EngineLog(any_engine(Engine()), "c1", None)
    assert closed == ["closed"]
