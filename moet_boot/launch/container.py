"""The server as a container: create it from the plan, watch it, stop it.

The engine is asked to create, to start and to remove; whether the container lives, and its death when it must die,
go by its first process on this machine. So a daemon that restarts or hangs changes nothing for a running server.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager

from moet_boot.errors import MoetBootError
from moet_boot.launch.belongings import Record
from moet_boot.launch.command import Command, port_is_free
from moet_boot.launch.container_end import find_end
from moet_boot.launch.container_kill import ContainerKiller
from moet_boot.launch.container_log import EngineLog, LogFollower
from moet_boot.launch.container_request import container_request
from moet_boot.launch.container_start import start_container
from moet_boot.launch.docker_engine import ANSWER_S, DockerEngine, connect
from moet_boot.launch.ending import ServerExit, StopReport
from moet_boot.launch.leftovers import Leftovers
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.plan import LaunchPlan
from moet_boot.launch.process import HOLDERS_EVERY_S, Clock, SystemClock
from moet_boot.machine.bounded import start_reading
from moet_boot.machine.snapshot import Docker
from moet_boot.machine.supervisor_mark import own_mark

URGENT_ANSWER_S = 2.0
"""For requests while a server must end: what is not answered in time is done without the engine."""
AWAY_S = 15.0
"""A daemon that comes back ends what it finds running within its 10 s of grace."""
LOG_END_S = 3.0
"""How long the end of the log may take after the container has ended."""


class ContainerServer:
    """One start of the server in a container. `engine`: what the machine's engine can do.

    Raises UsageError for a plan whose container cannot be made.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        engine: Docker,
        log: LogFile,
        *,
        connect_to: Callable[[float], DockerEngine] = connect,
        clock: Clock | None = None,
        record: Record | None = None,
    ) -> None:
        self.request = container_request(plan, engine, supervisor=own_mark())
        self.log = log
        self._listens = Command((), host=plan.host, port=plan.port)
        self._connect, self._clock = connect_to, clock or SystemClock()
        self._id: str | None = None
        self._killer: ContainerKiller | None = None
        self._follower = LogFollower(self._open_log, log.writer)
        self._leftovers = Leftovers(record=record)
        self._holders_noted_at = 0.0
        self._port_was_free = True
        self._started_at = 0.0
        self._end: Future[ServerExit] | None = None
        self._end_seen_at: float | None = None

    @property
    def pid(self) -> int | None:
        """The first process's pid on this machine; None before the start, or if it ended at once."""
        return self._killer.process.pid if self._killer else None

    @property
    def cgroup(self) -> str | None:
        """The container's control group, where the kernel can kill one."""
        folder = self._killer.process.cgroup if self._killer else None
        return str(folder) if folder else None

    def start(self) -> None:
        """Create and start the container; raises what `start_container` raises, and nothing runs then."""
        self._port_was_free = port_is_free(self._listens)
        self._started_at = time.time()
        with self._engine(ANSWER_S) as engine:
            started = start_container(engine, self.request, self._clock)
        self._id = started.id
        if started.process:
            self._killer = ContainerKiller(started.process, self._signal, self._clock)
            started.process.leash()
        if started.notice:
            os.write(self.log.writer, f"moet-boot: {started.notice}\n".encode())
        self._follower.start()

    def exited(self) -> ServerExit | None:
        """How it ended, or None while it runs, and while the engine still has to say how (20 s at most)."""
        if self._id is None:
            return None
        if self._killer and self._killer.process.is_alive():
            self._note_holders(self._killer, every_s=HOLDERS_EVERY_S)
            return None
        if self._end is None:
            self._end = self._ask_for_end(self._id)
        if not self._end.done():
            return None
        if self._end_seen_at is None:
            self._end_seen_at = self._clock.now()
            self._follower.container_ended()
        # the cause of a failure stands in the last lines: they must be here first
        complete = self._follower.drained or self._clock.now() - self._end_seen_at > LOG_END_S
        return self._end.result() if complete else None

    def new_output(self) -> bytes:
        """What it printed since the last call, bounded."""
        return self.log.new()

    def log_tail(self) -> bytes:
        """The end of its log."""
        return self.log.tail()

    def stop(self, grace_s: float) -> StopReport:
        """TERM (repeated), the grace, KILL, leftovers removed, the port checked. Safe at any time and twice."""
        killer, started = self._killer, self._clock.now()
        if killer is None:
            return StopReport(0.0)
        self._note_holders(killer)
        terms = killer.ask_to_end(started + grace_s) if grace_s > 0 else 0
        forced = killer.process.is_alive()
        killer.kill()
        removed, left = self._clean_up(killer)
        self._await_end()
        return StopReport(self._clock.now() - started, forced, left, terms, removed)

    def kill_now(self) -> None:
        """KILL all of it at once."""
        if self._killer:
            self._killer.kill()

    def close(self) -> None:
        """Kill what still runs and keep its log. Safe to call twice.

        The ended container stays until the next start: a preflight must see that one has just ended, because the
        driver may still be giving its memory back (field notes on unified memory, section 7).
        """
        self.kill_now()
        if self._id is not None:
            self._follower.close()
            self._id = None
        if self._killer:
            self._killer.process.close()
            self._killer = None
        self.log.close()

    @property
    def _alive(self) -> bool:
        return self._killer is not None and self._killer.process.is_alive()

    @contextmanager
    def _engine(self, answer_s: float) -> Iterator[DockerEngine]:
        """A fresh connection for each request: an old one may lead to a daemon that is gone."""
        with closing(self._connect(answer_s)) as engine:
            yield engine

    def _signal(self, name: str) -> None:
        if self._id is not None:
            with self._engine(URGENT_ANSWER_S) as engine:
                engine.signal(self._id, name)

    def _open_log(self, since: float | None) -> EngineLog:
        if self._id is None:
            raise MoetBootError("the container is gone, and its log with it")
        return EngineLog(self._connect(ANSWER_S), self._id, since)

    def _ask_for_end(self, container: str) -> Future[ServerExit]:
        """In a thread of its own, so that the supervisor's loop goes on."""
        by_us = self._killer is not None and self._killer.used
        away_at = self._follower.away_at
        was_away = away_at is not None and time.monotonic() - away_at < AWAY_S

        def ask() -> ServerExit:
            return find_end(self._urgent, container, since=self._started_at, by_us=by_us, was_away=was_away)

        return start_reading(ask)

    def _urgent(self) -> DockerEngine:
        return self._connect(URGENT_ANSWER_S)

    def _await_end(self) -> None:
        """Give the engine a moment to tell how it ended."""
        deadline = self._clock.now() + LOG_END_S
        while not self._alive and self.exited() is None and self._clock.now() < deadline:
            self._clock.sleep(0.05)

    def _note_holders(self, killer: ContainerKiller, every_s: float = 0.0) -> None:
        """Remember what it holds of the host's shared memory: a guard that kills asks nobody before."""
        now = self._clock.now()
        if self.request.ipc == "host" and now - self._holders_noted_at >= every_s:
            self._holders_noted_at = now
            self._leftovers.note_holders(killer.process.pids())

    def _clean_up(self, killer: ContainerKiller) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if killer.process.is_alive():
            return (), (f"the container {self.request.name} (process {killer.process.pid}) does not die",)
        removed, left = self._leftovers.remove()
        if self._port_was_free and not port_is_free(self._listens):
            left = (*left, f"port {self._listens.port} is taken by another process")
        return removed, left
