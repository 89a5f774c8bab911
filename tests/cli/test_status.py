import io
import json
import os
import time

import pytest

from moet_boot.cli.main import run
from moet_boot.cli.output import Output
from moet_boot.cli.status_view import WATCH_SECONDS, watch_status
from moet_boot.receipts.model import CurvePoint
from moet_boot.supervise.status import Status, process_start, remove_status, write_status
from moet_boot.units import GIB


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def a_status(**changes: object) -> Status:
    values: dict[str, object] = {
        "profile": "demo",
        "url": "http://127.0.0.1:8123",
        "port": 8123,
        "receipt": "20260101-000000-demo",
        "supervisor_pid": os.getpid(),
        "supervisor_start": process_start(os.getpid()),
        "phase": "loading weights",
        "started_at": time.time() - 30,
        "updated_at": time.time(),
        "available_bytes": 30 * GIB,
        "lowest_available_bytes": 20 * GIB,
        "floor_bytes": 8 * GIB,
        "recent": [CurvePoint(t_s=i, available_bytes=(40 - i) * GIB, free_bytes=0) for i in range(10)],
    }
    return Status.model_validate(values | changes)


def test_without_a_server_it_says_so_and_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 1
    assert "no server of moet-boot runs here" in capsys.readouterr().err


@pytest.mark.parametrize(("uid", "hint"), [(0, False), (1000, True)])
@pytest.mark.parametrize("command", ["status", "stop"])
def test_a_user_is_told_that_roots_servers_are_not_seen(
    command: str, uid: int, hint: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    run([command])
    said = capsys.readouterr()
    assert ("what root started is seen with sudo" in said.out + said.err) is hint


@pytest.mark.parametrize(("ready", "code"), [(True, 0), (False, 7)])
def test_a_server_that_is_not_ready_is_7(ready: bool, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    write_status(a_status(ready=ready))
    assert run(["status"]) == code
    shown = capsys.readouterr().out
    assert "30.00 GiB available, lowest 20.00 GiB, guard acts below 8.00 GiB" in shown
    assert "MemAvailable █" in shown


def test_a_server_whose_supervisor_is_gone_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write_status(a_status(supervisor_start=1.0))
    assert run(["status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"schema": "moet-boot/status/v1", "servers": []}


def test_only_the_port_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    write_status(a_status(ready=True))
    write_status(a_status(port=8010, ready=False))
    assert run(["status", "--json", "--port", "8123"]) == 0
    assert [s["port"] for s in json.loads(capsys.readouterr().out)["servers"]] == [8123]


def test_the_watch_shows_the_curve_and_ends_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def wait(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            remove_status(8123)

    write_status(a_status(ready=True))
    monkeypatch.setattr("moet_boot.cli.status_view.time.sleep", wait)
    out = Terminal()
    assert watch_status(Output(stdout=out), None) == 1
    assert looks == [WATCH_SECONDS] * 3
    assert "MemAvailable █" in out.getvalue()
    assert "no server of moet-boot runs here" in out.getvalue()
