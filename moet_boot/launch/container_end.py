"""How a container ended: the engine's account of it, once the engine answers."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from moet_boot.launch.docker_engine import ContainerEvent, ContainerState, DockerEngine, EngineSilentError
from moet_boot.launch.ending import Outside, ServerExit

PATIENCE_S = 20.0
"""A daemon that is started again first ends what it finds running, with 10 s of grace, and only then answers."""
LAST_S = 60.0
"""A signal that somebody sent longer ago is not what it died of."""
_ENDING = {signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGQUIT}


def find_end(
    connect: Callable[[], DockerEngine],
    container: str,
    *,
    since: float,
    by_us: bool,
    was_away: bool = False,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> ServerExit:
    """Ask until the engine tells how the container ended, or the patience is over: nothing is known then.

    `since`: its start in seconds since 1970. `by_us`: moet-boot itself has ended it, so nobody else is named.
    `was_away`: the engine did not answer just before the end.
    """
    deadline = now() + PATIENCE_S
    while now() < deadline:
        try:
            with closing(connect()) as engine:
                state = engine.find(container)
                if state is None:
                    return ServerExit(None, outside=None if by_us else Outside.REMOVED)
                if not state.running:
                    events = engine.events(state.id, since, time.time())
                    found = describe_end(state, events, engine_was_away=was_away)
                    return ServerExit(found.code, oom_killed=found.oom_killed) if by_us else found
        except EngineSilentError:
            was_away = True
        sleep(0.1)
    return ServerExit(None)


def describe_end(state: ContainerState, events: Sequence[ContainerEvent], *, engine_was_away: bool) -> ServerExit:
    """What state and events say about the end. Pure."""
    return ServerExit(
        state.exit_code,
        oom_killed=state.oom_killed or any(event.action == "oom" for event in events),
        outside=_outside(events, engine_was_away=engine_was_away),
    )


def _outside(events: Sequence[ContainerEvent], *, engine_was_away: bool) -> Outside | None:
    """Who else ended it, if anybody did.

    A daemon ends its containers while it answers nobody, and calls that a kill; a person's `docker stop` is a kill
    too, by a daemon that answers (its own event `stop` comes later).
    """
    if engine_was_away:
        return Outside.ENGINE
    last = max((event.at for event in events), default=0.0)
    killed = any(e.action == "kill" and e.signal in _ENDING and last - e.at < LAST_S for e in events)
    return Outside.PERSON if killed else None
