from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.launch import log_cursor
from moet_boot.launch.log_cursor import OVERLAP_S, LogCursor

START = 1_795_966_603


def frame(second: float, content: bytes) -> bytes:
    """A line as the engine sends it: RFC 3339 with nine digits, a blank, the line."""
    nanos = round((second - int(second)) * 1e9)
    stamp = datetime.fromtimestamp(int(second), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{stamp}.{nanos:09d}Z ".encode() + content


def asked_again(log: list[tuple[float, bytes]], cursor: LogCursor, size: int) -> list[bytes]:
    """What an engine sends for the first `size` lines of a log: those from `since` on, in the order of the file."""
    since = cursor.since
    return [frame(t, content) for t, content in log[:size] if since is None or t >= since]


def test_the_first_reading_takes_everything() -> None:
    cursor = LogCursor()
    assert cursor.since is None
    frames = [frame(START, b"a\n"), frame(START, b"a\n"), frame(START + 0.5, b"b\n")]
    assert b"".join(map(cursor.take, frames)) == b"a\na\nb\n"
    assert cursor.since == pytest.approx(START + 0.5 - OVERLAP_S)


def test_chunks_of_one_long_line_share_a_stamp_and_are_all_kept() -> None:
    cursor = LogCursor()
    chunks = [frame(START, b"x" * 16384), frame(START, b"x" * 16384), frame(START, b"x" * 100 + b"\n")]
    first = b"".join(map(cursor.take, chunks[:2]))
    cursor.reconnect()
    assert len(first + b"".join(map(cursor.take, chunks))) == 2 * 16384 + 101


def test_a_frame_without_a_stamp_is_passed_on_as_it_is() -> None:
    cursor = LogCursor()
    assert cursor.take(b"no stamp here, but more than thirty bytes\n").startswith(b"no stamp")
    assert cursor.take(b"") == b""
    assert cursor.since is None


def test_a_clock_that_was_set_back_hides_no_later_line() -> None:
    cursor = LogCursor()
    cursor.take(frame(START + 3600, b"before\n"))
    cursor.take(frame(START, b"after\n"))
    cursor.reconnect()
    assert cursor.since == pytest.approx(START - OVERLAP_S)
    assert cursor.take(frame(START, b"after\n")) == b""
    assert cursor.take(frame(START + 0.1, b"new\n")) == b"new\n"


def test_a_flood_is_remembered_only_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_cursor, "KEPT_FRAMES", 1000)
    cursor = LogCursor()
    for index in range(1500):
        cursor.take(frame(START, b"%d" % index))
    assert len(cursor._recent) == 1000


LINES = st.lists(
    st.tuples(st.integers(0, 2_500_000), st.integers(-40, 40), st.sampled_from([b"a\n", b"b\n", b"err\n", b"x" * 50])),
    max_size=60,
)


@given(lines=LINES, cuts=st.lists(st.integers(0, 60), max_size=5))
def test_no_break_loses_or_repeats_a_line(lines: list[tuple[int, int, bytes]], cuts: list[int]) -> None:
    """Steps of up to 2.5 s between lines, stdout and stderr out of order by up to 40 microseconds, breaks anywhere."""
    moment, log = float(START), []
    for step, jitter, content in lines:
        moment += step / 1e6
        log.append((round(moment + jitter / 1e6, 6), content))
    cursor = LogCursor()
    got = b""
    for cut in [*sorted(cuts), len(log)]:
        cursor.reconnect()
        got += b"".join(map(cursor.take, asked_again(log, cursor, cut)))
    assert got == b"".join(content for _, content in log)
