import errno
import io
import json
import os
import sys

import pytest

from moet_boot.cli.output import Output, ready_streams
from moet_boot.errors import MoetBootError


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def output(*, json_mode: bool = False, terminal: bool = False) -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
    return Output(json_mode=json_mode, stdout=out, stderr=err), out, err


def test_people_get_data_on_stdout_and_talk_on_stderr() -> None:
    to, out, err = output()
    to.data("result")
    to.say("talk")
    to.document("thing", {"a": 1})
    to.event("step", {"b": 2})
    assert (out.getvalue(), err.getvalue()) == ("result\n", "talk\n")


def test_machines_get_one_document_on_stdout_with_its_schema_first() -> None:
    to, out, err = output(json_mode=True)
    to.data("result")
    to.event("step", {"b": 2})
    to.document("thing", {"a": 1})
    assert list(json.loads(out.getvalue()).items()) == [("schema", "moet-boot/thing/v1"), ("a", 1)]
    assert json.loads(err.getvalue()) == {"schema": "moet-boot/step/v1", "b": 2}


def test_an_error_is_one_line_and_its_remedy_and_in_json_a_document() -> None:
    to, out, err = output()
    to.error("the plane file is short", "fetch it again", 5)
    assert err.getvalue() == "error: the plane file is short\n  fix: fetch it again\n"
    assert out.getvalue() == ""
    to, out, _ = output(json_mode=True)
    to.error("the plane file is short", "", 5)
    assert json.loads(out.getvalue()) == {
        "schema": "moet-boot/error/v1",
        "error": "the plane file is short",
        "fix": "",
        "exit_code": 5,
    }


def test_long_talk_is_never_wrapped() -> None:
    to, _, err = output()
    to.say("word " * 100)
    assert err.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
    ids=["terminal", "pipe", "no colour", "forced", "both on a pipe", "both on a terminal"],
)
def test_colour(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, coloured: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    to, _, err = output(terminal=terminal)
    to.say("red", style="red")
    assert ("\x1b[31m" in err.getvalue()) is coloured


@pytest.mark.parametrize("text", ["[bold]x[/bold]", ":smile:", "a [link=x]b"])
def test_markup_in_data_is_printed_as_it_is(text: str) -> None:
    to, out, _ = output()
    to.data(text)
    assert out.getvalue() == text + "\n"


class Refusing(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, failure: OSError) -> None:
        super().__init__()
        self._failure = failure

    def write(self, _text: str) -> int:
        raise self._failure


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("json_mode", [False, True], ids=["people", "json"])
def test_a_result_that_cannot_be_written_is_a_known_failure(json_mode: bool) -> None:
    to = Output(json_mode=json_mode, stdout=Refusing(FULL), stderr=io.StringIO())
    with pytest.raises(MoetBootError, match="No space left on device"):
        to.document("thing", {"a": 1}) if json_mode else to.data("result")


def test_a_reader_that_went_away_is_told_apart_from_a_full_disk() -> None:
    to = Output(stdout=Refusing(BrokenPipeError()), stderr=io.StringIO())
    with pytest.raises(BrokenPipeError):
        to.raw("result")


def test_an_error_is_said_although_its_document_cannot_be_written() -> None:
    err = io.StringIO()
    Output(json_mode=True, stdout=Refusing(FULL), stderr=err).error("no room", "", 1)
    assert err.getvalue() == "error: no room\n"


@pytest.mark.parametrize("failure", [FULL, BrokenPipeError(), OSError(errno.EIO, "gone")], ids=["full", "pipe", "tty"])
def test_talk_that_nobody_can_hear_stops_nothing(failure: OSError) -> None:
    out = io.StringIO()
    to = Output(json_mode=True, stdout=out, stderr=Refusing(failure))
    to.say("talk")
    to.event("step", {"b": 2})
    to.document("thing", {"a": 1})
    assert json.loads(out.getvalue())["a"] == 1


def test_a_closed_stream_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    ready_streams()
    with sys.stdout as nowhere:
        Output().data("result")
        assert nowhere.name == os.devnull


def test_what_an_encoding_lacks_is_a_question_mark_and_in_json_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    ready_streams()
    Output().raw("caf\u00e9")
    Output(json_mode=True).document("thing", {"a": "caf\u00e9"})
    stream.seek(0)
    first, rest = stream.read().split("\n", 1)
    assert first == "caf?"
    assert json.loads(rest)["a"] == "caf\u00e9"
