"""The log file: nothing is lost, floods are bounded, and trouble with the disk never reaches the server."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.launch import log_file
from moet_boot.launch.log_file import TAIL_BYTES, LogFile

SEGMENT = 64 * 1024


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogFile]:
    made = LogFile(tmp_path / "engine.log", segment_bytes=SEGMENT, kept_segments=3)
    yield made
    made.close()


def write(log: LogFile, data: bytes) -> None:
    assert os.write(log.writer, data) == len(data)


def drain(log: LogFile) -> bytes:
    return b"".join(iter(lambda: log.new(SEGMENT), b""))


def lines(first: int, count: int) -> bytes:
    return b"".join(b"line %09d of the flood\n" % number for number in range(first, first + count))


def whole(log: LogFile) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()) for path in log.segments()) + log.path.read_bytes()


def test_what_is_written_is_read_once_and_stays_in_the_file(log: LogFile) -> None:
    write(log, b"one\n")
    assert log.new() == b"one\n"
    assert log.new() == b""
    write(log, b"two\n")
    assert log.new(limit=2) == b"tw"
    assert log.new() == b"o\n"
    assert log.tail() == b"one\ntwo\n"
    assert log.path.read_bytes() == b"one\ntwo\n"


def test_a_second_start_appends_and_sees_only_its_own(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    path.write_bytes(b"first start\n")
    log = LogFile(path)
    write(log, b"second start\n")
    assert log.tail() == log.new() == b"second start\n"
    log.close()
    assert path.read_bytes() == b"first start\nsecond start\n"


def test_it_is_not_for_everybody(log: LogFile) -> None:
    assert log.path.stat().st_mode & 0o007 == 0


def test_the_tail_is_the_end(log: LogFile) -> None:
    write(log, b"x" * 100 + b"end")
    assert log.tail(5) == b"xxend"


def test_a_flood_is_cut_into_segments_without_losing_a_byte(log: LogFile) -> None:
    flood = lines(0, 60_000)
    for at in range(0, len(flood), 300_000):
        write(log, flood[at : at + 300_000])
        drain(log)
    assert log.trouble == ""
    assert log.tail() == flood[-TAIL_BYTES:]
    log.close()
    first, *others = (gzip.decompress(path.read_bytes()) for path in log.segments())
    assert len(others) == 2
    assert flood.startswith(first)
    assert flood.endswith(b"".join(others) + log.path.read_bytes())
    assert all(part.endswith(b"\n") for part in (first, *others))


def test_the_place_on_the_disk_is_given_back(log: LogFile) -> None:
    write(log, lines(0, 100_000))
    drain(log)
    facts = log.path.stat()
    assert facts.st_size == 100_000 * 28
    assert facts.st_blocks * 512 < TAIL_BYTES + 3 * SEGMENT


def test_segments_are_numbered_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    log = LogFile(path)
    for _ in range(2):
        log.close()
        log = LogFile(path, segment_bytes=SEGMENT, kept_segments=100)
        write(log, lines(0, 45_000))
        drain(log)
        log.close()
    numbers = [int(segment.name.split(".")[-2]) for segment in log.segments()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert whole(log).count(b"line 000000000 ") == 2
    assert whole(log).count(b"\n") == 90_000


def test_without_segments_it_only_grows(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "engine.log", segment_bytes=0)
    write(log, lines(0, 60_000))
    drain(log)
    log.close()
    assert log.segments() == []
    assert log.path.read_bytes() == lines(0, 60_000)


@pytest.mark.parametrize("size", [0, 100, TAIL_BYTES, TAIL_BYTES + 1, TAIL_BYTES + SEGMENT, TAIL_BYTES + 3 * SEGMENT])
def test_at_its_end_it_is_archived_but_for_a_readable_mib(tmp_path: Path, size: int) -> None:
    log = LogFile(tmp_path / "engine.log", segment_bytes=2 * SEGMENT)
    said = lines(0, size // 28 + 1)[:size]
    write(log, said)
    log.close()
    assert whole(log) == said
    assert log.path.stat().st_size <= TAIL_BYTES
    assert all(gzip.decompress(part.read_bytes()).endswith(b"\n") for part in log.segments())
    assert (size > TAIL_BYTES) == bool(log.segments())
    assert log.trouble == ""


def test_a_flood_that_nobody_read_is_archived_too(log: LogFile) -> None:
    flood = lines(0, 60_000)
    write(log, flood)
    log.close()
    first, *others = (gzip.decompress(path.read_bytes()) for path in log.segments())
    assert flood.startswith(first)
    assert flood.endswith(b"".join(others) + log.path.read_bytes())


def test_one_endless_line_is_cut_where_it_is(log: LogFile) -> None:
    write(log, b"x" * (2 * TAIL_BYTES))
    drain(log)
    log.close()
    assert len(log.segments()) == 3  # no more than are kept
    assert gzip.decompress(log.segments()[0].read_bytes()) == b"x" * SEGMENT


@pytest.mark.parametrize(
    ("name", "error"),
    [("_write_whole", OSError(28, "No space left on device")), ("_punch", OSError(95, "Operation not supported"))],
)
def test_trouble_with_the_disk_costs_the_segments_and_no_line(
    log: LogFile, monkeypatch: pytest.MonkeyPatch, name: str, error: OSError
) -> None:
    def refuse(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(log_file, name, refuse)
    write(log, lines(0, 60_000))
    assert drain(log) == lines(0, 60_000)
    assert str(error.strerror) in log.trouble
    write(log, b"and on\n")
    assert log.new() == b"and on\n"
    log.close()
    assert log.segments() == []
    assert log.path.read_bytes() == lines(0, 60_000) + b"and on\n"


def test_closed_it_answers_nothing(log: LogFile) -> None:
    log.close()
    log.close()
    assert log.new() == log.tail() == b""
    with pytest.raises(ValueError, match="closed"):
        assert log.writer


@settings(max_examples=15, deadline=None)
@given(st.lists(st.binary(max_size=40_000), max_size=12))
def test_any_bytes_survive(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = LogFile(folder / "engine.log", segment_bytes=SEGMENT, kept_segments=1000)
    read = b""
    for chunk in chunks:
        write(log, chunk * 10)
        read += drain(log)
    log.close()
    assert read == b"".join(chunk * 10 for chunk in chunks) == whole(log)
