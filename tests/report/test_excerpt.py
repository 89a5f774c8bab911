import gzip
from pathlib import Path

import pytest

from moet_boot.report.excerpt import read_excerpt

GAP = "[... lines are left out here ...]\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server-1.log"


def lines(count: int, first: int = 0) -> str:
    return "".join(f"line {number:05}\n" for number in range(first, first + count))


@pytest.mark.parametrize("text", ["", "one", lines(10)], ids=["empty", "no-newline", "some"])
def test_a_small_log_is_whole(log: Path, text: str) -> None:
    log.write_text(text)
    assert read_excerpt(log) == text


def test_of_a_large_one_the_beginning_and_the_end_in_whole_lines(log: Path) -> None:
    log.write_text(lines(1000))
    assert read_excerpt(log, head_bytes=50, tail_bytes=50) == lines(4) + GAP + lines(4, 996)


def test_a_cut_never_shows_a_value_without_its_name(log: Path) -> None:
    secret = "api_key=planted-api-key-of-the-server"
    log.write_text(f"{lines(10)}{secret}\n{lines(10)}")
    for tail in range(100, 170):
        shown = read_excerpt(log, head_bytes=20, tail_bytes=tail)
        assert ("planted" in shown) <= (secret in shown)
    for head in range(100, 170):
        shown = read_excerpt(log, head_bytes=head, tail_bytes=20)
        assert ("planted" in shown) <= (secret in shown)


def test_one_endless_line_shows_nothing(log: Path) -> None:
    log.write_text("x" * 1000)
    assert read_excerpt(log, head_bytes=50, tail_bytes=50) == GAP


def test_the_first_segment_has_the_boot(log: Path) -> None:
    log.with_name("server-1.log.00001.gz").write_bytes(gzip.compress(lines(100).encode()))
    log.with_name("server-1.log.00002.gz").write_bytes(gzip.compress(b"middle"))
    log.write_text(lines(3, 900))
    assert read_excerpt(log, head_bytes=50) == lines(4) + GAP + lines(2, 901)


def test_the_hole_that_a_segment_left_is_not_shown(log: Path) -> None:
    log.with_name("server-1.log.00001.gz").write_bytes(gzip.compress(lines(1).encode()))
    log.write_bytes(bytes(5000) + b"rest of a line\nlast\n")
    assert read_excerpt(log) == lines(1) + GAP + "last\n"


def test_bytes_that_are_no_text(log: Path) -> None:
    log.write_bytes(b"caf\xe9\n")
    assert read_excerpt(log) == "caf\ufffd\n"


@pytest.mark.parametrize("damage", [b"no gzip", gzip.compress(b"x" * 1000)[:-9]], ids=["no-gzip", "cut"])
def test_a_damaged_segment_is_an_error_of_the_disk(log: Path, damage: bytes) -> None:
    log.write_text("x")
    log.with_name("server-1.log.00001.gz").write_bytes(damage)
    with pytest.raises((OSError, EOFError)):
        read_excerpt(log)


def test_a_log_that_is_gone(log: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_excerpt(log)
