"""Stopping from another process: which server is meant, and what is said when it does not end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.supervise import stopping
from moet_boot.supervise.status import Status, process_start, read_status, write_status
from moet_boot.supervise.stopping import stop_server

WAITS = "import signal, sys\n{before}\nprint(flush=True)\nsignal.pause()"


@pytest.fixture(autouse=True)
def orphans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said of containers that lost their moet-boot; a test asks no engine of this machine."""
    said: list[str] = []
    monkeypatch.setattr(stopping, "end_orphans", lambda: said)
    return said


@contextmanager
def supervisor(before: str = "") -> Iterator["subprocess.Popen[str]"]:
    """A process that waits for a signal, as a supervisor would."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITS.format(before=before)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def say(pid: int, port: int, *, start: float | None = None) -> None:
    """A status file of this supervisor."""
    write_status(
        Status(
            profile="demo",
            url=f"http://127.0.0.1:{port}",
            port=port,
            receipt="r",
            supervisor_pid=pid,
            supervisor_start=start if start is not None else process_start(pid) or 0.0,
            phase="serving",
            started_at=time.time(),
            updated_at=time.time(),
        )
    )


def leaping() -> Callable[[], float]:
    """A clock on which a minute passes at each look."""
    minutes = iter(range(1000))
    return lambda: next(minutes) * 60.0


@pytest.mark.parametrize("port", [None, 8123])
def test_nothing_runs(port: int | None) -> None:
    assert "no server of moet-boot runs here" in stop_server(port, 1.0).words


@pytest.mark.parametrize("port", [None, 8123])
def test_the_supervisor_gets_a_term_and_is_waited_for(port: int | None) -> None:
    with supervisor() as process:
        say(process.pid, 8123)
        stopped = stop_server(port, 10.0)
        assert process.wait(30) == -signal.SIGTERM
    assert stopped.port == 8123
    assert "stopped demo on port 8123" in stopped.words


def test_another_port_is_left_alone() -> None:
    with supervisor() as process:
        say(process.pid, 8123)
        assert "runs here on port 9" in stop_server(9, 1.0).words
        assert process.poll() is None


def test_with_several_a_port_must_be_named() -> None:
    with supervisor() as one, supervisor() as other:
        say(one.pid, 8123)
        say(other.pid, 8124)
        with pytest.raises(UsageError, match="2 servers run, on the ports 8123, 8124"):
            stop_server(None, 1.0)
        stop_server(8124, 10.0)
        assert one.poll() is None


def test_one_that_does_not_end_is_told_with_the_last_resort() -> None:
    with supervisor("signal.signal(signal.SIGTERM, signal.SIG_IGN)") as process:
        say(process.pid, 8123)
        with pytest.raises(MoetBootError, match="did not end within 90 s") as caught:
            stop_server(None, 90.0, clock=leaping(), sleep=lambda _s: None)
    assert f"kill -9 {process.pid}" in caught.value.fix


def test_the_file_of_a_dead_supervisor_is_removed_and_its_pid_left_alone() -> None:
    say(os.getpid(), 8123, start=1.0)
    assert "no server" in stop_server(None, 1.0).words
    assert read_status(8123) is None


def test_a_container_that_lost_its_moet_boot_is_ended_too(orphans: list[str]) -> None:
    orphans.append("ended the container moet-boot-spark")
    assert stop_server(None, 1.0).words == "ended the container moet-boot-spark; no server of moet-boot runs here"


def test_without_the_docker_sdk_there_are_no_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> list[str]:
        raise UsageError("the Docker SDK for Python is not installed")

    monkeypatch.setattr(stopping, "end_orphans", missing)
    assert stop_server(None, 1.0).words == "no server of moet-boot runs here"
