"""One start of a container, on an engine whose containers are processes of this machine."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, NotReadyError
from moet_boot.exits import Exit
from moet_boot.launch import container_start
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.docker_engine import ContainerEvent, ContainerState, DockerEngine, ImageFacts
from moet_boot.launch.ending import Outside, ServerExit
from moet_boot.launch.log_file import LogFile
from moet_boot.machine.container_labels import SUPERVISOR_LABEL
from moet_boot.machine.snapshot import Docker
from moet_boot.machine.supervisor_mark import own_mark
from testing.container_plans import container_plan
from testing.fake_engine import FakeEngine, any_engine

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
POLITE = (
    "import signal, sys, time\n"
    "signal.signal(15, lambda *_: (print('bye', flush=True), sys.exit(3)))\n"
    "print('up', flush=True)\n"
    "time.sleep(60)"
)
Make = Callable[..., ContainerServer]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet_boot.launch.container_log.AGAIN_S", 0.005)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    found = FakeEngine(tmp_path)
    yield found
    if found.process is not None:
        found.process.kill()
        found.process.wait()


@pytest.fixture
def make(engine: FakeEngine, tmp_path: Path) -> Iterator[Make]:
    made: list[ContainerServer] = []

    def build(program: str = SLEEPER, **options: object) -> ContainerServer:
        def connect_to(_answer_s: float) -> DockerEngine:
            found: DockerEngine = any_engine(engine)
            return found

        plan = container_plan(program, port=0, **options)  # type: ignore[arg-type]
        log = LogFile(tmp_path / "server.log")
        made.append(ContainerServer(plan, Docker(present=True), log, connect_to=connect_to))
        return made[-1]

    yield build
    for server in made:
        engine.away = False
        server.close()


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not what():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def wait_up(server: ContainerServer) -> None:
    wait_for(lambda: b"up" in server.log_tail())


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
    report = server.stop(10)
    assert (report.forced, report.terms, report.left) == (False, 1, ())
    assert server.exited() == ServerExit(3)
    assert server.log_tail() == b"up\nbye\n"


def test_a_deaf_server_is_killed_after_the_grace(make: Make) -> None:
    server = make(DEAF)
    server.start()
    wait_up(server)
    report = server.stop(0.2)
    assert (report.forced, report.terms, report.left) == (True, 1, ())
    assert 0.2 <= report.seconds < 3
    assert server.exited() == ServerExit(137)


@pytest.mark.parametrize("away", [False, True], ids=["engine answers", "engine is away"])
def test_killing_needs_no_engine(make: Make, engine: FakeEngine, away: bool) -> None:
    server = make(DEAF)
    server.start()
    wait_up(server)
    engine.away = away
    server.kill_now()
    assert engine.process is not None
    assert engine.process.wait(1) == -signal.SIGKILL


def test_where_we_may_not_signal_the_engine_does(
    make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moet_boot.launch.container_process.ContainerProcess.send", lambda *_: False)
    server = make(POLITE)
    server.start()
    wait_up(server)
    assert server.stop(5).forced is False
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
    assert process.wait(1) == -signal.SIGKILL
    assert "remove" not in engine.calls
    server.close()


def test_closing_needs_no_engine(make: Make, engine: FakeEngine) -> None:
    server = make()
    server.start()
    engine.away = True
    server.close()
    assert engine.process is not None
    assert engine.process.wait(1) == -signal.SIGKILL


def test_the_next_attempt_removes_what_the_last_one_left(make: Make, engine: FakeEngine) -> None:
    server = make()
    assert engine.existing is None
    engine.answers = [_state_of_ours(server), _state_of_ours(server)]
    server.start()
    wait_up(server)
    assert engine.calls.index("remove") < engine.calls.index("create")
    assert server.log_tail() == b"up\n"


def _state_of_ours(server: ContainerServer) -> ContainerState:
    return ContainerState("c0", "moet-boot-test", "exited", None, 0, False, "", "", dict(server.request.labels))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("create", BusyError("the name is taken")),
        ("start", NotReadyError("no such program")),
    ],
)
def test_a_start_that_fails_leaves_nothing(make: Make, engine: FakeEngine, call: str, error: MoetBootError) -> None:
    server = make()
    engine.refuses[call] = error
    with pytest.raises(type(error)):
        server.start()
    assert (server.pid, engine.process, server.exited()) == (None, None, None)
    assert ("remove" in engine.calls) == (call == "start")
    server.kill_now()
    assert server.stop(1).seconds == 0


def test_a_missing_image(make: Make, engine: FakeEngine) -> None:
    engine.images = {}
    with pytest.raises(ArtefactMissingError, match="no image vllm-moet-test:1") as caught:
        make().start()
    assert "--pull" in caught.value.fix
    assert "create" not in engine.calls


@pytest.mark.parametrize("arch", ["arm64", ""])
def test_an_image_for_another_machine(make: Make, engine: FakeEngine, arch: str) -> None:
    engine.images["vllm-moet-test:1"] = ImageFacts("sha256:1", arch, ())
    with pytest.raises(MoetBootError, match=f"built for {arch or 'an unknown'}.* not for amd64") as caught:
        make().start()
    assert caught.value.code is Exit.REFUSED
    assert "create" not in engine.calls


def test_an_engine_that_runs_elsewhere(make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_start, "APPEAR_S", 0.1)
    monkeypatch.setattr(engine, "_state", lambda code: replace(FakeEngine._state(engine, code), pid=4_194_304))
    with pytest.raises(MoetBootError, match="runs elsewhere"):
        make().start()
    assert engine.calls[-1] == "remove"


def test_a_pid_that_is_somebody_else_here(make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_start, "APPEAR_S", 0.1)
    monkeypatch.setattr(engine, "_state", lambda code: replace(FakeEngine._state(engine, code), pid=1))
    with pytest.raises(MoetBootError, match="process 1, and this machine has no such process"):
        make().start()


def test_a_container_that_ends_at_once_has_no_pid_and_an_end(make: Make, engine: FakeEngine) -> None:
    server = make("raise SystemExit(9)")
    real = engine.start

    def start(container: str) -> None:
        real(container)
        assert engine.process is not None
        engine.process.wait()

    engine.start = start  # type: ignore[method-assign]
    server.start()
    assert server.pid is None
    wait_for(server.exited)
    assert server.exited() == ServerExit(9)


def test_a_port_that_is_taken_afterwards_is_told(engine: FakeEngine, make: Make) -> None:
    server = make(POLITE)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
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
        assert container.wait(5) == -signal.SIGKILL
    finally:
        container.kill()
        supervisor.kill()
        supervisor.communicate()
