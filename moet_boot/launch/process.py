"""The server as a process of this machine: start in a session of its own, watch, stop, leave nothing behind."""

import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.launch.control_group import ControlGroup, make_control_group
from moet_boot.launch.ending import ServerExit, StopReport
from moet_boot.launch.leftovers import Leftovers
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.proc_table import Process, read_process
from moet_boot.launch.process_tree import TOKEN_VARIABLE, ProcessTree, become_subreaper

TERM_EVERY_S = 2.0
"""The engine swallows a TERM while it starts; a second one 2 s later works (engine.md section 4)."""
KILL_TIMEOUT_S = 10.0
LOOK_EVERY_S = 1.0
HOLDERS_EVERY_S = 5.0
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


@dataclass(frozen=True)
class Command:
    """What is started. `env` is added to this process's environment; `leash` is an argv put before, which execs.

    `host` and `port`: where it will listen; the stop proves that the port is free again.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    leash: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int | None = None


def find_program(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> str:
    """The program that `argv` would run. Raises MoetBootError subclasses when there is none that can be run."""
    if not argv or not argv[0]:
        raise MoetBootError("the plan has no command to start", fix="set engine.command in the profile")
    name = str((cwd or Path()) / argv[0]) if "/" in argv[0] else argv[0]
    found = shutil.which(name, path=env.get("PATH", os.environ.get("PATH", os.defpath)))
    if found:
        return found
    if Path(name).is_file():
        raise MoetBootError(f"{name} is not executable", fix=f"chmod +x {name}, or correct engine.command")
    raise ArtefactMissingError(
        f"the server's program {argv[0]} does not exist", fix="install the engine, or correct engine.command"
    )


class ServerProcess:
    """One start of the server. `strangers` gives the pids of our other children (guard, helpers): never touched."""

    def __init__(
        self,
        command: Command,
        log: LogFile,
        *,
        strangers: Callable[[], Collection[int]] = tuple,
        clock: Clock | None = None,
        oom_score_adj: int | None = OOM_SCORE_ADJ,
    ) -> None:
        self.command, self.log = command, log
        self.group: ControlGroup | None = None
        """Its control group, where one could be made: for the guard."""
        self._clock: Clock = clock or SystemClock()
        self._strangers, self._oom_score_adj = strangers, oom_score_adj
        self._child: subprocess.Popen[bytes] | None = None
        self._tree: ProcessTree | None = None
        self._leftovers = Leftovers()
        self._exit: ServerExit | None = None
        self._port_was_free = True
        self._oom_kills = 0
        self._next_look = self._next_holders = 0.0

    @property
    def pid(self) -> int | None:
        """The pid of its first process, which leads session and group; None before the start."""
        return self._child.pid if self._child else None

    def start(self) -> None:
        """Start it. Raises MoetBootError when it cannot be started at all; nothing is left running then."""
        command = self.command
        find_program(command.argv, command.env, command.cwd)
        become_subreaper()
        self._port_was_free = self._port_is_free()
        self._oom_kills = _oom_kill_count()
        token = secrets.token_hex(8)
        environment = {**os.environ, **command.env, TOKEN_VARIABLE: token}
        try:
            child = subprocess.Popen(
                [*command.leash, *command.argv],
                env=environment,
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
        self._child = child
        self.log.close_writer()
        self._tree = ProcessTree(_identified(child.pid), token, self._strangers)
        self._restrain(child.pid)

    def _restrain(self, pid: int) -> None:
        """No core dumps (one of 100 GB filled a disk), first for the OOM killer, in a group of its own if possible."""
        with suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if self._oom_score_adj is not None:
            with suppress(OSError):
                Path(f"/proc/{pid}/oom_score_adj").write_text(str(self._oom_score_adj), encoding="ascii")
        group = make_control_group()
        if group:
            try:
                group.add(pid)
                self.group = group
            except OSError:
                group.remove()

    def exited(self) -> ServerExit | None:
        """How its first process ended, or None while it runs (also before the start)."""
        if self._child is None or self._exit:
            return self._exit
        self._look()
        # only looked at, not collected: as a zombie it keeps its pid, on which the tree relies
        seen = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen:
            by_signal = seen.si_code in {os.CLD_KILLED, os.CLD_DUMPED}
            oom_killed = _oom_kill_count() > self._oom_kills
            self._exit = ServerExit(
                code=None if by_signal else seen.si_status,
                signal=seen.si_status if by_signal else None,
                oom_killed=oom_killed,
            )
        return self._exit

    def members(self) -> list[Process]:
        """All its living processes, the first one first."""
        if self._tree is None:
            return []
        return self._tree.members()

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

        TERM goes to the first process alone while it lives: sent to the whole group it can leave it hanging
        (engine.md section 4). Safe to call at any time and twice.
        """
        started = self._clock.now()
        if self._child is None or self._tree is None:
            return StopReport(0.0)
        terms = self._ask_to_end(self._tree, started + grace_s) if grace_s > 0 else 0
        forced = bool(self._tree.members())
        survivors = self._kill(self._tree)
        removed, left = self._clean_up(survivors)
        return StopReport(self._clock.now() - started, forced, left, terms, removed)

    def kill_now(self) -> None:
        """KILL the whole tree at once."""
        if self._tree:
            self._kill(self._tree)

    def close(self) -> None:
        """Collect the first process, archive the log, remove the group; kills what still runs. Safe to call twice."""
        if self._child and self._child.returncode is None:
            self.kill_now()
            self.exited()
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(timeout=1)
            self._tree = None
        if self.group:
            self.group.remove()
        self.log.close()

    def _look(self) -> None:
        """Keep the tree's memory fresh: who is a member, and what members hold in shared memory."""
        now = self._clock.now()
        if self._tree is None or now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY_S
        members = self._tree.members()
        self._tree.collect_orphans()
        if now >= self._next_holders:
            self._next_holders = now + HOLDERS_EVERY_S
            self._leftovers.note_holders(members)

    def _ask_to_end(self, tree: ProcessTree, deadline: float) -> int:
        """TERM every 2 s until all are gone or the deadline; returns how often it was sent."""
        terms = 0
        next_term = self._clock.now()
        self._leftovers.note_holders(tree.members())
        while members := tree.members():
            now = self._clock.now()
            if now >= deadline:
                break
            if now >= next_term:
                leader = [p for p in members if p.pid == tree.root.pid]
                tree.signal_all(signal.SIGTERM, leader or (members if terms else []))
                terms += bool(leader or terms)
                next_term = now + TERM_EVERY_S
            tree.collect_orphans()
            self._clock.sleep(0.05)
        return terms

    def _kill(self, tree: ProcessTree) -> list[Process]:
        members = tree.members()
        self._leftovers.note_holders(members)
        if members and self.group:
            self.group.kill()
        return tree.kill(KILL_TIMEOUT_S, self._clock.now, self._clock.sleep)

    def _clean_up(self, survivors: Sequence[Process]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if survivors:
            return (), tuple(f"process {p.words} does not die" for p in survivors)
        self.new_output()
        removed, left = self._leftovers.remove()
        if self._port_was_free and not self._port_is_free():
            left = (*left, f"port {self.command.port} is taken by another process")
        return removed, left

    def _port_is_free(self) -> bool:
        if not self.command.port:
            return True
        family = socket.AF_INET6 if ":" in self.command.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # past connections in TIME_WAIT do not count; a listener does
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.command.host or "0.0.0.0", self.command.port))  # noqa: S104  (only asked, not served)
            except OSError:
                return False
        return True


def _identified(pid: int) -> Process:
    """Our child, which exists at least as a zombie until it is collected."""
    found = read_process(pid)
    if found is None:
        raise MoetBootError(f"cannot read /proc/{pid}", fix="mount /proc; moet-boot cannot watch a server without it")
    return found


def _oom_kill_count() -> int:
    """How many processes the kernel has killed for memory since it booted; 0 where it does not say."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
