"""The server as a process of this machine: start in a session of its own, watch, stop, leave nothing behind."""

import os
import resource
import secrets
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from moet_boot.errors import MoetBootError
from moet_boot.guard.cgroup import Cgroup, create_cgroup, remove_cgroup
from moet_boot.guard.linux import adopt_orphans
from moet_boot.guard.processes import Process
from moet_boot.launch.belongings import Record
from moet_boot.launch.command import Command, find_program, port_is_free
from moet_boot.launch.ending import ServerExit, StopReport
from moet_boot.launch.leftovers import Leftovers
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.process_tree import TOKEN_VARIABLE, ServerTree

TERM_EVERY_S = 2.0
"""The engine swallows a TERM while it starts; a second one 2 s later works (engine.md section 4)."""
ORPHAN_TERM_S = 0.5
"""Once the first process is gone, its children get this long to follow by themselves."""
KILL_TIMEOUT_S = 10.0
LOOK_EVERY_S = 1.0
HOLDERS_EVERY_S = 2.0
LAST_LOOK_S = 0.2
"""How long a KILL may wait for the last look at what the server holds."""
OOM_SCORE_ADJ = 800
"""Before the host's daemons, behind nothing (field notes: unified memory, section 6)."""


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds of a monotonic clock."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The real time."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ServerProcess:
    """One start of the server."""

    def __init__(
        self,
        command: Command,
        log: LogFile,
        *,
        clock: Clock | None = None,
        oom_score_adj: int | None = OOM_SCORE_ADJ,
        record: Record | None = None,
    ) -> None:
        self.command, self.log = command, log
        self.group: Path | None = None
        """Its control group, where one could be made: for the guard."""
        self._clock: Clock = clock or SystemClock()
        self._oom_score_adj = oom_score_adj
        self._child: subprocess.Popen[bytes] | None = None
        self._tree: ServerTree | None = None
        self._cgroup: Cgroup | None = None
        self._leftovers = Leftovers(record=record)
        self._port_was_free = True
        self._oom_kills = 0
        self._next_look = self._next_holders = 0.0

    @property
    def pid(self) -> int | None:
        """The pid of its first process, which leads session and group; None before the start."""
        return self._child.pid if self._child else None

    @property
    def cgroup(self) -> str | None:
        """The folder of its control group, where one could be made."""
        return str(self.group) if self.group else None

    def start(self) -> None:
        """Start it. Raises MoetBootError when it cannot be started at all; nothing is left running then."""
        command = self.command
        find_program(command.argv, command.env, command.cwd)
        adopt_orphans()
        self._port_was_free = port_is_free(self.command)
        self._oom_kills = _oom_kill_count()
        token = secrets.token_hex(8)
        try:
            self._child = subprocess.Popen(
                [*command.leash, *command.argv],
                env={**os.environ, **command.env, TOKEN_VARIABLE: token},
                cwd=command.cwd,
                stdin=subprocess.DEVNULL,
                stdout=self.log.writer,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise MoetBootError(
                f"cannot start {command.argv[0]}: {error.strerror or error}",
                fix="correct engine.command in the profile, or install the engine again",
            ) from error
        self.log.close_writer()
        self._restrain(self._child.pid, token)
        self._tree = ServerTree(self._child.pid, token, self._cgroup)

    def _restrain(self, pid: int, token: str) -> None:
        """No core dumps (one of 100 GB filled a disk), first for the OOM killer, in a group of its own if possible."""
        with suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if self._oom_score_adj is not None:
            with suppress(OSError):
                Path(f"/proc/{pid}/oom_score_adj").write_text(str(self._oom_score_adj), encoding="ascii")
        self.group = create_cgroup(f"moet-boot-{token}")
        if self.group:
            _remove_old_groups(self.group)
            try:
                (self.group / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")
                self._cgroup = Cgroup(self.group)
            except (OSError, MoetBootError):
                remove_cgroup(self.group)
                self.group = None

    def exited(self) -> ServerExit | None:
        """How its first process ended, or None while it runs (also before the start)."""
        if self._child is None:
            return None
        status = self._child.poll()
        self._look()
        if status is None:
            return None
        oom_killed = _oom_kill_count() > self._oom_kills
        return ServerExit(status, None, oom_killed) if status >= 0 else ServerExit(None, -status, oom_killed)

    def processes(self) -> list[Process]:
        """All its living processes, the first one first."""
        return self._tree.processes() if self._tree else []

    def new_output(self) -> bytes:
        """What it printed since the last call, bounded."""
        chunk = self.log.new()
        self._leftovers.note_log(chunk)
        return chunk

    def log_tail(self) -> bytes:
        """The end of its log."""
        return self.log.tail()

    def stop(self, grace_s: float) -> StopReport:
        """TERM (repeated) and wait for the grace, KILL what is left, remove leftovers, check the port.

        Safe to call at any time and twice.
        """
        started = self._clock.now()
        if self._tree is None:
            return StopReport(0.0)
        terms = self._ask_to_end(self._tree, started + grace_s) if grace_s > 0 else 0
        forced = bool(self._tree.processes())
        survivors = self._kill(self._tree)
        removed, left = self._clean_up(survivors)
        return StopReport(self._clock.now() - started, forced, left, terms, removed)

    def kill_now(self) -> None:
        """KILL the whole tree at once."""
        if self._tree:
            self._kill(self._tree)

    def close(self) -> None:
        """Kill what still runs, remove leftovers and group, archive the log. Safe to call twice."""
        if self._tree:
            self._clean_up(self._kill(self._tree))
            self._tree.close()
            self._tree = None
        if self._cgroup and self.group:
            self._cgroup.close()
            remove_cgroup(self.group)
            self._cgroup = self.group = None
        self.log.close()

    def _look(self) -> None:
        """Keep the tree's memory fresh: who is a member, and what members hold in shared memory."""
        now = self._clock.now()
        if self._tree is None or now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY_S
        processes = self._tree.processes()
        if now >= self._next_holders:
            self._next_holders = now + HOLDERS_EVERY_S
            self._look_at(processes)

    def _look_at(self, processes: Sequence[Process], wait_s: float = 0.0) -> None:
        if self._leftovers.record:
            self._leftovers.record.processes = tuple((process.pid, process.start) for process in processes)
        self._leftovers.look((process.pid for process in processes), wait_s)

    def _ask_to_end(self, tree: ServerTree, deadline: float) -> int:
        """TERM again and again until all are gone or the deadline; returns how often it was sent."""
        terms = 0
        last = float("-inf")
        while processes := tree.processes():
            now = self._clock.now()
            if now >= deadline:
                break
            if now - last >= (TERM_EVERY_S if tree.leader_lives else ORPHAN_TERM_S):
                self._look_at(processes)
                terms += bool(tree.ask_to_end())
                last = now
            self._clock.sleep(0.05)
            self._collect_first()
        return terms

    def _kill(self, tree: ServerTree) -> list[Process]:
        self._look_at(tree.processes(), LAST_LOOK_S)
        survivors = tree.kill(KILL_TIMEOUT_S, self._clock.now, self._clock.sleep)
        self._collect_first()
        return survivors

    def _collect_first(self) -> None:
        if self._child:
            self._child.poll()

    def _clean_up(self, survivors: Sequence[Process]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if survivors:
            return (), tuple(f"process {p.name} ({p.pid}) does not die" for p in survivors)
        self.new_output()
        removed, left = self._leftovers.remove()
        if self._port_was_free and not port_is_free(self.command):
            left = (*left, f"port {self.command.port} is taken by another process")
        return removed, left


def _remove_old_groups(ours: Path) -> None:
    """Remove the empty groups that killed supervisors left; a group with members cannot be removed."""
    for group in ours.parent.glob("moet-boot-*"):
        if group != ours:
            remove_cgroup(group)


def _oom_kill_count() -> int:
    """How many processes the kernel has killed for memory since it booted; 0 where it does not say."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
