import pytest

from moet_boot.errors import BusyError
from moet_boot.launch.container_name import TERM_WAIT_S, clear_name, clear_orphans
from moet_boot.launch.docker_engine import ContainerState
from moet_boot.machine.container_labels import PROFILE_LABEL, SUPERVISOR_LABEL
from moet_boot.machine.supervisor_mark import own_mark
from testing.fake_engine import FakeEngine, FakeTime, any_engine

NAME = "moet-boot-test"
GONE = f"{own_mark().partition(':')[0]}:4194304:1"
"""A pid beyond the largest one that Linux gives."""
UNSEEN = f"{own_mark().partition('.')[0]}.1:2:3"


def existing(labels: dict[str, str], *, running: bool) -> ContainerState:
    return ContainerState(
        id="c0",
        name=NAME,
        status="running" if running else "exited",
        pid=4711 if running else None,
        exit_code=0,
        oom_killed=False,
        error="",
        started_at="",
        labels=labels,
    )


def test_a_free_name_needs_nothing() -> None:
    engine = FakeEngine()
    assert clear_name(any_engine(engine), NAME, FakeTime()) == ""
    assert engine.calls == ["find"]


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("labels", [{}, {PROFILE_LABEL: "spark"}], ids=["no labels", "a pasted docker run line"])
def test_a_container_that_we_did_not_start_stays(labels: dict[str, str], running: bool) -> None:
    engine = FakeEngine()
    engine.existing = existing(labels, running=running)
    with pytest.raises(BusyError, match=f"a container named {NAME} exists .*did not start it") as caught:
        clear_name(any_engine(engine), NAME, FakeTime())
    assert NAME in caught.value.fix
    assert engine.calls == ["find"]


@pytest.mark.parametrize(
    "mark", [UNSEEN, "1:2:3", "init"], ids=["in another namespace", "on another machine", "a neighbour that runs"]
)
def test_the_container_of_a_moet_boot_that_may_run_stays(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mark == "init":
        mark = own_mark()
        monkeypatch.setattr("moet_boot.machine.supervisor_mark.os.getpid", lambda: 1)
    engine = FakeEngine()
    engine.existing = existing({SUPERVISOR_LABEL: mark}, running=True)
    with pytest.raises(BusyError, match="belongs to") as caught:
        clear_name(any_engine(engine), NAME, FakeTime())
    assert "moet-boot stop" in caught.value.fix
    assert engine.calls == ["find"]


@pytest.mark.parametrize(
    "mark",
    [GONE, own_mark(), "1:2:3"],
    ids=["of one that has ended", "of our own last attempt", "from before a reboot"],
)
def test_a_stale_one_that_has_ended_is_removed(mark: str) -> None:
    engine = FakeEngine()
    engine.existing = existing({SUPERVISOR_LABEL: mark}, running=False)
    assert clear_name(any_engine(engine), NAME, FakeTime()) == ""
    assert engine.calls == ["find", "remove"]


def test_a_stale_one_that_runs_is_asked_to_end_first() -> None:
    engine = FakeEngine()
    running = existing({SUPERVISOR_LABEL: GONE}, running=True)
    engine.answers = [running, running, existing({SUPERVISOR_LABEL: GONE}, running=False)]
    done = clear_name(any_engine(engine), NAME, FakeTime())
    assert done == f"ended the container {NAME}, which a moet-boot that has ended had left running"
    assert engine.calls == ["find", "signal SIGTERM", "find", "find", "remove"]


def test_one_that_does_not_end_is_removed_all_the_same() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers = [existing({SUPERVISOR_LABEL: GONE}, running=True)] * 1000
    clear_name(any_engine(engine), NAME, clock)
    assert engine.calls[-1] == "remove"
    assert TERM_WAIT_S <= clock.now() < TERM_WAIT_S + 1


@pytest.mark.parametrize(
    ("labels", "running", "ended"),
    [
        ({SUPERVISOR_LABEL: GONE}, True, True),
        ({SUPERVISOR_LABEL: GONE}, False, False),
        ({SUPERVISOR_LABEL: own_mark()}, True, False),
        ({SUPERVISOR_LABEL: UNSEEN}, True, False),
        ({SUPERVISOR_LABEL: "1:2:3"}, True, False),
        ({}, True, False),
        (None, False, False),
    ],
    ids=[
        "left running",
        "left, ended",
        "our own",
        "in another namespace",
        "on another machine",
        "somebody else's",
        "none",
    ],
)
def test_only_an_orphan_that_runs_is_ended_before_the_preflight(
    labels: dict[str, str] | None, running: bool, ended: bool
) -> None:
    engine = FakeEngine()
    engine.existing = None if labels is None else existing(labels, running=running)
    engine.answers = [engine.existing, engine.existing, existing({}, running=False)] if ended else []
    assert bool(clear_orphans(any_engine(engine), FakeTime())) is ended
    assert ("remove" in engine.calls) is ended
