"""Ending the server: whole tree, nothing else, at once."""

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from moet_boot.guard.linux import let_run
from moet_boot.guard.processes import Births
from moet_boot.guard.tree import Member, Tree

if TYPE_CHECKING:
    from moet_boot.guard.processes import Process


class Group(Protocol):
    """What `Cgroup` can do."""

    def kill(self) -> bool:
        """SIGKILL all of it."""

    def pids(self) -> list[int]:
        """Who is left."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One round of killing: how many were signalled, and the pids that still run."""

    signalled: int
    left: tuple[int, ...]


class Killer:
    """Kills a tree and, where there is one, its cgroup. Call `strike` until nobody is left.

    In a cgroup, or below an anchor that adopts orphans, nobody can get away, and KILL goes out at once. Otherwise
    everybody is stopped first: a child that was born a moment ago can only be found as long as its parent lives.
    Anchors go last.
    """

    def __init__(self, tree: Tree, group: Group | None = None) -> None:
        self.tree = tree
        self.group = group
        self._births: Births | None = None
        self._hurried: set[int] = set()
        self._first = True

    def strike(self) -> Strike:
        """One round: group, known members, newly found ones; and the anchors once all others are dead."""
        first, self._first = self._first, False
        if first and not self._contained():
            self._stop_all()
        signalled = self._kill_known()
        if self.tree.refresh(everybody=first):
            signalled += self._kill_known()
        if not any(not member.anchor for member in self.tree.alive()):
            signalled += sum(member.send(signal.SIGKILL) for member in self.tree.alive())
        left = {member.process.pid for member in self.tree.alive()}
        return Strike(signalled, tuple(sorted(left.union(self.group.pids() if self.group else ()))))

    def _contained(self) -> bool:
        return self.group is not None or any(member.anchor for member in self.tree.members.values())

    def _stop_all(self) -> None:
        """Stop members until a look around finds no new one: a stopped process has no more children."""
        stopped: set[Process] = set()
        while running := [member for member in self._others() if member.process not in stopped]:
            for member in running:
                member.send(signal.SIGSTOP)
                stopped.add(member.process)
            self.tree.refresh(everybody=len(stopped) == len(running))

    def terminate(self) -> int:
        """Ask the server to end: its first process, else whoever is left; how many were asked.

        A TERM to all at once can leave the first process hanging (engine notes, section 4); a leash passes it on.
        """
        self.tree.refresh()
        alive = self.tree.alive()
        asked = [member for member in alive if member.root] or alive
        return sum(member.send(signal.SIGTERM) for member in asked)

    def watch(self) -> None:
        """Keep the list of members up to date while nothing is wrong."""
        self._births = self._births or Births()
        if self._births.any_new():
            self.tree.refresh()

    def close(self) -> None:
        """Let go of all files."""
        if self._births is not None:
            self._births.close()
        self.tree.close()

    @property
    def ended(self) -> bool:
        """Whether nobody is left, neither in the tree nor in the group."""
        return not self.tree.alive() and not (self.group and self.group.pids())

    def _others(self) -> list[Member]:
        return [member for member in self.tree.members.values() if not member.anchor]

    def _kill_known(self) -> int:
        if self.group is not None:
            self.group.kill()
        struck = [member for member in self._others() if member.send(signal.SIGKILL)]
        for member in struck:
            if member.process.pid not in self._hurried:
                self._hurried.add(member.process.pid)
                let_run(member.process.pid)
        return len(struck)


def may_signal(pid: int) -> bool:
    """Whether this process has the right to kill that one."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except ProcessLookupError:
        return True
    return True
