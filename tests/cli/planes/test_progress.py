import io
import json

import pytest

from moet_boot.cli.output import Output
from moet_boot.cli.planes.progress import stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with stages(Output(stdout=io.StringIO(), stderr=screen)) as stage:
        report = stage("slots")
        for done in range(1, 11):
            report(done << 20, 10 << 20)
    shown = screen.getvalue()
    assert "slots" in shown
    assert "10.0/10.0 MiB" in shown
    assert "/s" in shown
    assert "0:00:00" in shown


def test_a_stage_that_never_starts_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with stages(Output(stdout=io.StringIO(), stderr=screen)) as stage:
        stage("whole file")
    assert "whole file" not in screen.getvalue()


def test_a_pipe_gets_nothing() -> None:
    out, err = io.StringIO(), io.StringIO()
    with stages(Output(stdout=out, stderr=err)) as stage:
        stage("slots")(5, 10)
    assert out.getvalue() + err.getvalue() == ""


def test_events_come_now_and_then_and_always_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("moet_boot.cli.planes.progress.time.monotonic", lambda: clock[0])
    out, err = io.StringIO(), io.StringIO()
    with stages(Output(json_mode=True, stdout=out, stderr=err)) as stage:
        report = stage("slots")
        for done in range(1, 101):
            clock[0] += 0.1
            report(done, 100)
    events = [json.loads(line) for line in err.getvalue().splitlines()]
    assert 15 <= len(events) <= 21
    assert events[-1]["done_bytes"] == events[-1]["total_bytes"] == 100
    assert events[0]["bytes_per_s"] == 10
    assert events[0]["eta_s"] == pytest.approx(9.4, abs=0.2)
    assert out.getvalue() == ""
