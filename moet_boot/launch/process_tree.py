"""Which processes belong to one server, wherever they went, and nothing else.

Members are: the session and the process group of the first process, everything that descends from a member,
everything that was once seen as a member, and orphans that carry the launch's token in their environment
(a daemon that left the session and lost its parents before anybody looked). Session and group numbers are safe
to compare because the first process is not collected while its tree is used: a zombie keeps its pid, so no
stranger can inherit it. Two facts from engine.md section 4 shape this: a killed API process leaves its engine
behind, and engine processes overwrite their environment, so the token alone would not find them.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from moet_boot.launch.proc_table import PROC, Process, all_processes, environment, send

TOKEN_VARIABLE = "MOET_BOOT_LAUNCH"  # noqa: S105  (a marker, no secret)
_PR_SET_CHILD_SUBREAPER = 36
_INIT = 1


def become_subreaper() -> bool:
    """Make orphans of our descendants our children, so that they stay in reach; False where the kernel refuses."""
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class ProcessTree:
    """The processes of one server. `root` must be an uncollected child of this process.

    `strangers` gives the pids of our other children (guard, helpers): they and what is ours are never members.
    """

    def __init__(
        self, root: Process, token: str, strangers: Callable[[], Collection[int]] = tuple, proc: Path = PROC
    ) -> None:
        self.root = root
        self._token = f"{TOKEN_VARIABLE}={token}".encode()
        self._strangers = strangers
        self._proc = proc
        self._known: dict[int, int] = {root.pid: root.started}
        self._cleared: set[tuple[int, int]] = set()

    def members(self) -> list[Process]:
        """All living members, the first process first; remembers them. Reads all of /proc."""
        table = {p.pid: p for p in all_processes(self._proc)}
        forbidden = {os.getpid(), _INIT, *self._strangers()}
        self._cleared &= {(p.pid, p.started) for p in table.values()}
        found = {p.pid for p in table.values() if self._belongs(p, table)} - forbidden
        found |= _descendants(table, found, forbidden)
        self._known = {pid: table[pid].started for pid in found}
        self._known[self.root.pid] = self.root.started
        return sorted((table[pid] for pid in found if not table[pid].is_zombie), key=lambda p: p.started)

    def signal_all(self, number: int, members: Iterable[Process] | None = None) -> list[Process]:
        """Signal all (or the given) members; returns those that were reached."""
        reached = []
        for process in self.members() if members is None else members:
            with suppress(PermissionError):
                if send(process, number):
                    reached.append(process)
        return reached

    def kill(
        self,
        timeout_s: float = 10.0,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> list[Process]:
        """KILL until nobody is left, also those that are born meanwhile; returns who outlived the timeout.

        A process that the kernel holds (state D, as in a driver call) cannot die before it is let go.
        """
        deadline = now() + timeout_s
        while members := self.members():
            self.signal_all(signal.SIGKILL, members)
            self.collect_orphans()
            if now() >= deadline:
                return self.members()
            sleep(0.01)
        return []

    def collect_orphans(self) -> None:
        """Collect members that died as our children, but for the first process."""
        for pid in list(self._known):
            if pid != self.root.pid:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _belongs(self, process: Process, table: dict[int, Process]) -> bool:
        if process.started < self.root.started:
            return False
        if self.root.pid in {process.session, process.group} or self._known.get(process.pid) == process.started:
            return True
        return self._led_by_a_member(process, table) or self._carries_token(process)

    def _led_by_a_member(self, process: Process, table: dict[int, Process]) -> bool:
        """In a session that a member opened: its leader's pid is not given away while the session lives."""
        leader = self._known.get(process.session)
        holder = table.get(process.session)
        return leader is not None and (holder is None or holder.started == leader)

    def _carries_token(self, process: Process) -> bool:
        identity = (process.pid, process.started)
        if identity in self._cleared or process.parent not in {_INIT, os.getpid()}:
            return False
        variables = environment(process.pid, self._proc)
        # it may be empty for a moment, while the process starts its program
        if any(variables) and self._token not in variables:
            self._cleared.add(identity)
        return self._token in variables


def _descendants(table: dict[int, Process], members: set[int], forbidden: set[int]) -> set[int]:
    """Everything below the members."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    queue = list(members)
    while queue:
        for child in children.get(queue.pop(), []):
            if child not in found | members | forbidden:
                found.add(child)
                queue.append(child)
    return found
