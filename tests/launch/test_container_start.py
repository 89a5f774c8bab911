"""What keeps a container from being started, and what a failed start leaves: nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, NotReadyError
from moet_boot.exits import Exit
from moet_boot.launch import container_start
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.docker_engine import ContainerState, EngineSilentError, ImageFacts
from moet_boot.launch.ending import ServerExit
from testing.fake_engine import FakeEngine, FakeTime
from testing.waiting import wait_for, wait_up

DIGEST = f"sha256:{2:064x}"
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
    engine.images["vllm-moet-test:1"] = ImageFacts(arch, ("sha256:1",))
    with pytest.raises(MoetBootError, match=f"built for {arch or 'an unknown'}.* not for amd64") as caught:
        make().start()
    assert caught.value.code is Exit.REFUSED
    assert "create" not in engine.calls


@pytest.mark.parametrize(
    ("pinned", "known", "starts"),
    [
        (None, (), True),
        (DIGEST, (DIGEST,), True),
        (DIGEST, ("sha256:1", DIGEST), True),
        (DIGEST, ("sha256:1",), False),
        (DIGEST, (), False),
    ],
    ids=["no pin", "its id", "one of several", "another image of the name", "nothing known"],
)
def test_the_pinned_image_and_no_other(
    make: Make, engine: FakeEngine, pinned: str | None, known: tuple[str, ...], starts: bool
) -> None:
    """Judged at each start: between two of them a build may give the name to another image."""
    engine.images["vllm-moet-test:1"] = ImageFacts("amd64", known)
    server = make(image_digest=pinned)
    if starts:
        server.start()
        assert server.pid
        return
    with pytest.raises(MoetBootError, match=f"the image vllm-moet-test:1 is .*, not {DIGEST}") as caught:
        server.start()
    assert caught.value.code is Exit.REFUSED
    assert "create" not in engine.calls


@pytest.mark.parametrize("back_after", [3, None], ids=["it comes back", "it does not"])
def test_a_start_that_was_lost_is_taken_back(
    make: Make, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, back_after: int | None
) -> None:
    """The engine died while it started the container: nobody would guard that one."""
    server = make(clock=FakeTime())
    tries: list[str] = []

    def remove(container: str) -> None:
        tries.append(container)
        if back_after is None or len(tries) <= back_after:
            raise EngineSilentError("the container engine does not answer (to remove the container)")

    monkeypatch.setattr(engine, "remove", remove)
    engine.refuses["start"] = EngineSilentError("the container engine does not answer (to start the container)")
    with pytest.raises(MoetBootError, match="to start the container") as caught:
        server.start()
    assert ("docker rm -f moet-boot-test" in caught.value.fix) == (back_after is None)
    assert len(tries) == (4 if back_after else container_start.TAKE_BACK_S * 2 + 1)


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
