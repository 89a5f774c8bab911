import signal
from collections.abc import Sequence

import pytest

from moet_boot.launch.container_end import PATIENCE_S, describe_end, find_end
from moet_boot.launch.docker_engine import ContainerEvent, ContainerState, EngineSilentError
from moet_boot.launch.ending import Outside, ServerExit
from testing.fake_engine import FakeEngine, FakeTime, any_engine


def state(code: int, *, oom: bool = False, running: bool = False) -> ContainerState:
    return ContainerState(
        id="c1",
        name="moet-boot-test",
        status="running" if running else "exited",
        pid=7 if running else None,
        exit_code=code,
        oom_killed=oom,
        error="",
        started_at="2026-11-29T15:36:43.8Z",
    )


DIED = ContainerEvent("die", 100.0)


@pytest.mark.parametrize(
    ("code", "oom", "events", "away", "expected"),
    [
        (0, False, [DIED], False, ServerExit(0)),
        (1, False, [DIED], False, ServerExit(1)),
        (137, True, [DIED], False, ServerExit(137, oom_killed=True)),
        (1, False, [ContainerEvent("oom", 99.0), DIED], False, ServerExit(1, oom_killed=True)),
        (
            143, False, [ContainerEvent("kill", 99.0, 15), DIED], False,
            ServerExit(143, outside=Outside.PERSON),
        ),
        (
            137, False, [ContainerEvent("kill", 89.0, 15), ContainerEvent("kill", 99.0, 9), DIED], False,
            ServerExit(137, outside=Outside.PERSON),
        ),
        (
            137, False, [ContainerEvent("kill", 99.9, 9), DIED], False,
            ServerExit(137, outside=Outside.PERSON),
        ),
        (1, False, [ContainerEvent("kill", 99.0, signal.SIGUSR1), DIED], False, ServerExit(1)),
        (1, False, [ContainerEvent("kill", 10.0, 15), DIED], False, ServerExit(1)),
        (0, False, [], True, ServerExit(0, outside=Outside.ENGINE)),
        (137, False, [ContainerEvent("kill", 99.9, 9), DIED], True, ServerExit(137, outside=Outside.ENGINE)),
    ],
    ids=[
        "by itself", "failed", "OOM by its state", "OOM of a child, by an event", "docker stop", "docker stop that had to kill",
        "docker kill", "a harmless signal", "a TERM of long ago", "engine restarted", "a kill by the engine itself",
    ],
)  # fmt: skip
def test_the_account(code: int, oom: bool, events: Sequence[ContainerEvent], away: bool, expected: ServerExit) -> None:
    assert describe_end(state(code, oom=oom), events, engine_was_away=away) == expected


def ask(engine: FakeEngine, clock: FakeTime, *, by_us: bool = False) -> ServerExit:
    return find_end(lambda: any_engine(engine), "c1", since=0.0, by_us=by_us, now=clock.now, sleep=clock.sleep)


def test_waits_until_the_engine_has_noticed() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers = [state(0, running=True), state(0, running=True), state(3)]
    assert ask(engine, clock) == ServerExit(3)


def test_waits_for_an_engine_that_comes_back() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers = [EngineSilentError("away")] * 5 + [state(137)]
    assert ask(engine, clock) == ServerExit(137, outside=Outside.ENGINE)


def test_an_engine_that_was_away_just_before_the_end() -> None:
    engine = FakeEngine()
    engine.answers, engine.past = [state(137)], [ContainerEvent("kill", 99.0, 9), DIED]
    end = find_end(lambda: any_engine(engine), "c1", since=0.0, by_us=False, was_away=True)
    assert end == ServerExit(137, outside=Outside.ENGINE)


def test_what_we_ended_ourselves_names_nobody_else() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers, engine.past = [state(137)], [ContainerEvent("kill", 99.0, 9), DIED]
    assert ask(engine, clock, by_us=True) == ServerExit(137)


def test_a_container_that_somebody_removed() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers = [None]
    assert ask(engine, clock) == ServerExit(None, outside=Outside.REMOVED)
    engine.answers = [None]
    assert ask(engine, clock, by_us=True) == ServerExit(None)


def test_patience_ends() -> None:
    engine, clock = FakeEngine(), FakeTime()
    engine.answers = [EngineSilentError("away")] * 10_000
    assert ask(engine, clock) == ServerExit(None)
    assert clock.now() == pytest.approx(PATIENCE_S, abs=1.0)
