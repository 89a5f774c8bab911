"""The processes of one server, wherever they went: the guard's tree, and on top of it what only a parent can know.

The guard's tree finds children and sessions. A daemon that left its session and lost its parents between two looks
is neither: as a subreaper we inherit it, and it carries the launch's token in its environment. The token alone would
not do, because vLLM's engine processes overwrite their environment (engine.md section 3).
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from moet_boot.guard.cgroup import Cgroup
from moet_boot.guard.kill import Killer
from moet_boot.guard.processes import Process, read_process
from moet_boot.guard.tree import Member, Tree

TOKEN_VARIABLE = "MOET_BOOT_LAUNCH"  # noqa: S105  (a marker, no secret)


class ServerTree:
    """The processes of the server whose first process is `root`, our child. Call `close` when it is gone."""

    def __init__(self, root: int, token: str, group: Cgroup | None = None) -> None:
        self.root = root
        self._token = f"{TOKEN_VARIABLE}={token}".encode()
        self._tree = Tree()
        self._tree.add_root(root)
        self._killer = Killer(self._tree, group)
        self._uncollected: dict[int, int] = {}

    def members(self) -> list[Member]:
        """All living members, the oldest first. Looks at every process of the machine that is new since last time."""
        self._tree.refresh()
        self._find_orphans()
        self._collect()
        return sorted(self._tree.alive(), key=lambda member: member.process.start)

    def processes(self) -> list[Process]:
        """The same as facts of this moment: the engine's processes get their names seconds after their start."""
        return [read_process(member.process.pid) or member.process for member in self.members()]

    def ask_to_end(self) -> int:
        """TERM to the first process while it lives, else to all that are left; returns how many were asked.

        A TERM to all at once can leave the first process hanging during its start (engine.md section 4).
        """
        members = self.members()
        asked = [member for member in members if member.process.pid == self.root] or members
        return sum(member.send(signal.SIGTERM) for member in asked)

    def kill(
        self,
        timeout_s: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> list[Process]:
        """KILL until nobody is left, also those born meanwhile; returns who outlives the timeout.

        A process that the kernel holds (state D, as in a driver call) dies only when it is let go.
        """
        deadline = now() + timeout_s
        while True:
            self._killer.strike()
            if not self.members() and self._killer.ended:
                return []
            if now() >= deadline:
                return self.processes()
            sleep(0.01)

    def close(self) -> None:
        """Let go of the handles."""
        self._tree.close()

    @property
    def leader_lives(self) -> bool:
        """Whether the first process still runs."""
        leader = self._tree.members.get(self.root)
        return leader is not None and leader.alive

    def _find_orphans(self) -> None:
        for pid in _our_children():
            if pid not in self._tree.members and pid != self.root and self._token in _environment(pid):
                self._tree.add_root(pid)
        self._uncollected |= {pid: m.process.start for pid, m in self._tree.members.items() if pid != self.root}

    def _collect(self) -> None:
        """Collect members that died as our children; the first process is left to whoever waits for it."""
        for pid in set(_our_children()) & self._uncollected.keys():
            process = read_process(pid)
            if process and process.start == self._uncollected[pid]:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _our_children() -> Iterator[int]:
    """The pids of the children of all our threads, zombies included."""
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            yield from (int(pid) for pid in path.read_text(encoding="ascii").split())


def _environment(pid: int) -> list[bytes]:
    """The `NAME=value` strings that the process was started with; empty where they cannot be read."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
