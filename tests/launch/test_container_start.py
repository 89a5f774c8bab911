"""What keeps a container from being started, and what a failed start leaves: nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, NotReadyError
from moet_boot.exits import Exit
from moet_boot.launch import container_start
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.docker_engine import ContainerState, ImageFacts
from moet_boot.launch.ending import ServerExit
from testing.fake_engine import FakeEngine
from testing.waiting import wait_for, wait_up

Make = Callable[..., ContainerServer]


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
