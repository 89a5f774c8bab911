"""Messages of a log without their prefixes."""

import pytest

from moet_boot.engine.error_lines import first_error, last_message, messages, suspicious


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(Worker pid=11731) ERROR 11-29 15:24:11 [multiproc_executor.py:953] ValueError: x", "ValueError: x"),
        ("(Worker_TP0 pid=34322) ERROR 11-29 15:24:11 [m.py:953] died", "died"),
        ("ERROR 11-29 15:24:11 [m.py:953] died", "died"),
        ("ERROR:    Exception in ASGI application", "Exception in ASGI application"),
        ("ValueError: x", "ValueError: x"),
        ("\x1b[31mERROR\x1b[0m 11-29 15:24:11 [m.py:953] died", "died"),
        ("  Value error, User-specified", "  Value error, User-specified"),
        ("CRITICAL 11-29 15:24:11 [m.py:953] died", "died"),
    ],
)
def test_prefixes_go(line: str, message: str) -> None:
    assert list(messages(line)) == [message]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "(APIServer pid=1) INFO 11-29 15:22:27 [api_utils.py:347] version 0.32.0 error",
        "INFO:     Application startup complete.",
        "DEBUG 11-29 15:22:27 [x.py:1] Error",
        "    raise ValueError(",
        '  File "x.py", line 1, in f',
    ],
)
def test_talk_and_tracebacks_go(line: str) -> None:
    assert list(messages(line)) == []


def test_a_validation_error_takes_its_details_along() -> None:
    log = (
        "E: 1 validation error for CacheConfig\nfield\n  Input should be <= 1\n  For further information\nValueError: y"
    )
    assert suspicious(log) == ["E: 1 validation error for CacheConfig field Input should be <= 1", "ValueError: y"]


def test_lines_that_look_harmless_are_left_out() -> None:
    assert suspicious("Loading shards\nall fine\n") == []


@pytest.mark.parametrize(
    ("log", "first", "last"),
    [
        ("", "", ""),
        ("Loading\n", "", "Loading"),
        ("a.b.SomeError: one\nOtherError: two\nthe end\n", "a.b.SomeError: one", "the end"),
        ("KeyboardInterrupt\n", "KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_first_error_and_last_message(log: str, first: str, last: str) -> None:
    assert (first_error(log), last_message(log)) == (first, last)
