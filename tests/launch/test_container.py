"""One start of a container, on an engine whose containers are processes of this machine."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from moet_boot.errors import MoetBootError
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.docker_engine import ContainerEvent
from moet_boot.launch.ending import Outside, ServerExit
from moet_boot.machine.container_labels import SUPERVISOR_LABEL
from moet_boot.machine.supervisor_mark import own_mark
from testing.fake_engine import DEAF, POLITE, FakeEngine
from testing.waiting import wait_for, wait_up
from tests.scripted_engine.start import free_port

Make = Callable[..., ContainerServer]


def test_start_and_look(make: Make, engine: FakeEngine) -> None:
    server = make()
    assert (server.pid, server.cgroup, server.exited(), server.log_tail()) == (None, None, None, b"")
    server.start()
    assert engine.process is not None
    assert server.pid == engine.process.pid
    assert server.exited() is None
    wait_up(server)
    assert server.new_output() == b"up\n"
    assert server.new_output() == b""
    assert server.request.labels[SUPERVISOR_LABEL] == own_mark()


def test_an_end_comes_with_the_last_lines(make: Make) -> None:
    server = make("print('one'); print('last words'); raise SystemExit(5)")
    server.start()
    wait_for(server.exited)
    assert server.exited() == ServerExit(5)
    assert server.log_tail().endswith(b"last words\n")
    assert server.stop(0).left == ()


def test_the_loop_goes_on_while_the_engine_is_away(make: Make, engine: FakeEngine) -> None:
    server = make()
    server.start()
    wait_up(server)
    engine.away = True
    assert server.exited() is None
    assert engine.process is not None
    engine.process.kill()
    asked = engine.calls.count("find")
    wait_for(lambda: server.exited() is None and engine.calls.count("find") > asked)
    assert server.exited() is None
    engine.away = False
    wait_for(server.exited)
    assert server.exited() == ServerExit(137, outside=Outside.ENGINE)


def test_somebody_elses_docker_stop_is_told(make: Make, engine: FakeEngine) -> None:
    server = make()
    server.start()
    engine.past = [ContainerEvent("kill", 99.0, 15), ContainerEvent("die", 99.1)]
    assert engine.process is not None
    engine.process.terminate()
    wait_for(server.exited)
    ended = server.exited()
    assert ended is not None
    assert ended.outside is Outside.PERSON


def test_a_polite_server_ends_by_one_term(make: Make) -> None:
    server = make(POLITE)
    server.start()
    wait_up(server)
    report = server.stop(30)
    assert (report.forced, report.terms, report.left) == (False, 1, ())
    assert server.exited() == ServerExit(3)
    assert server.log_tail() == b"up\nbye\n"


def test_a_deaf_server_is_killed_after_the_grace(make: Make) -> None:
    server = make(DEAF)
    server.start()
    wait_up(server)
    report = server.stop(0.2)
    assert (report.forced, report.terms, report.left) == (True, 1, ())
    assert report.seconds >= 0.2
    assert server.exited() == ServerExit(137)


@pytest.mark.parametrize("away", [False, True], ids=["engine answers", "engine is away"])
def test_killing_needs_no_engine(make: Make, engine: FakeEngine, away: bool) -> None:
    server = make(DEAF)
    server.start()
    wait_up(server)
    engine.away = away
    server.kill_now()
    assert engine.process is not None
    assert engine.process.wait(30) == -signal.SIGKILL


def test_where_we_may_not_signal_the_engine_does(
    make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moet_boot.launch.container_process.ContainerProcess.send", lambda *_: False)
    server = make(POLITE)
    server.start()
    wait_up(server)
    assert server.stop(30).forced is False
    assert engine.calls.count("signal SIGTERM") == 1


def test_killing_through_an_engine_that_comes_back(
    make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moet_boot.launch.container_process.ContainerProcess.send", lambda *_: False)
    server = make(DEAF)
    server.start()
    wait_up(server)
    engine.refuses["signal SIGKILL"] = MoetBootError("busy")
    monkeypatch.setattr(engine, "refuses", _Once(engine.refuses))
    server.kill_now()
    assert engine.calls.count("signal SIGKILL") >= 2


class _Once(dict[str, Exception]):
    """Errors that come only once each."""

    def __getitem__(self, key: str) -> Exception:
        return self.pop(key)


def test_what_does_not_die_is_reported(make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet_boot.launch.container_process.ContainerProcess.send", lambda *_: False)
    monkeypatch.setattr("moet_boot.launch.container_kill.KILL_TIMEOUT_S", 0.1)
    server = make(DEAF)
    server.start()
    wait_up(server)
    engine.away = True
    report = server.stop(0)
    assert report.left == (f"the container moet-boot-test (process {server.pid}) does not die",)


def test_closing_kills_and_leaves_an_ended_container_for_all_to_see(make: Make, engine: FakeEngine) -> None:
    server = make(DEAF)
    server.start()
    process = engine.process
    server.close()
    assert process is not None
    assert process.wait(30) == -signal.SIGKILL
    assert "remove" not in engine.calls
    server.close()


def test_closing_needs_no_engine(make: Make, engine: FakeEngine) -> None:
    server = make()
    server.start()
    engine.away = True
    server.close()
    assert engine.process is not None
    assert engine.process.wait(30) == -signal.SIGKILL


def test_a_port_that_is_taken_afterwards_is_told(engine: FakeEngine, make: Make) -> None:
    server = make(POLITE)
    port = free_port()
    server._listens = replace(server._listens, port=port)
    server.start()
    wait_up(server)
    with socket.create_server(("127.0.0.1", port)):
        assert server.stop(5).left == (f"port {port} is taken by another process",)


def test_the_container_dies_with_moet_boot_even_without_its_guard(tmp_path: Path) -> None:
    """A supervisor that is killed runs no line of code any more: its leash does it."""
    program = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from moet_boot.guard.tree import hold\n"
        "from moet_boot.launch.container_process import ContainerProcess\n"
        "member = hold(int(sys.argv[1]), None)\n"
        "ContainerProcess(member, None).leash()\n"
        "print('leashed', flush=True)\n"
        "time.sleep(60)\n"
    )
    container = subprocess.Popen(["sleep", "60"])
    supervisor = subprocess.Popen([sys.executable, "-c", program, str(container.pid)], stdout=subprocess.PIPE)
    try:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"leashed\n"
        assert container.poll() is None
        wait_for(lambda: [child.name() for child in psutil.Process(supervisor.pid).children()] == ["moet-leash"])
        supervisor.kill()
        assert container.wait(30) == -signal.SIGKILL
    finally:
        container.kill()
        supervisor.kill()
        supervisor.communicate()
