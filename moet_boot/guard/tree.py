"""The server's processes: found by descent and session, held by pidfd, so that no other process is taken for one.

A pid may be reused; a pidfd stays with the process that it was opened for. So membership is decided once, and signals
go through pidfds only.
"""

import os
import select
import signal
from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.guard.processes import Process, list_pids, read_process


@dataclass(frozen=True, slots=True)
class Member:
    """A process of the server and the pidfd that holds on to it.

    `root`: it was named, not found. `anchor`: it adopts orphans, so it dies last.
    """

    process: Process
    pidfd: int
    root: bool = False
    anchor: bool = False

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie is dead."""
        return not _ended(self.pidfd)

    def send(self, number: int) -> bool:
        """Send a signal; False when it is gone or not ours to signal."""
        try:
            signal.pidfd_send_signal(self.pidfd, number)
        except OSError:
            return False
        return True


def hold(pid: int, start: int | None, *, root: bool = False, anchor: bool = False) -> Member | None:
    """The process with this pid and start time (None: any); None when it is gone, a zombie or somebody else.

    The pidfd is opened first and the process read afterwards: what was read is what the pidfd holds, unless it
    ended in between, which the pidfd shows.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return None
    process = read_process(pid)
    if process is None or _ended(pidfd) or start not in {None, process.start}:
        os.close(pidfd)
        return None
    return Member(process, pidfd, root, anchor)


def _ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


class Tree:
    """The processes below some roots: children, their children, and everybody in a session that one of them leads.

    `never`: pids that are no part of it, whatever their parents are (the guard, the supervisor).
    """

    def __init__(self, never: Iterable[int] = ()) -> None:
        self.members: dict[int, Member] = {}
        self._never = {0, 1, os.getpid(), *never}
        self._leaders: dict[int, int] = {}
        self._strangers: set[int] = set()

    def add_root(self, pid: int, start: int | None = None, *, anchor: bool = False) -> bool:
        """Take a process in; False when it is gone, one of `never`, or started at another time than `start`."""
        if pid in self._never or pid < 0:
            return False
        member = hold(pid, start, root=True, anchor=anchor)
        if member is None:
            return False
        self._adopt(member)
        self._strangers.clear()
        return True

    def add_children_of(self, parent: int) -> int:
        """Take in the children of a process that is no member (orphans, of the one who adopts them); how many."""
        children = [found for pid in list_pids() if (found := read_process(pid)) and found.ppid == parent]
        return sum(self.add_root(child.pid, child.start) for child in children if child.pid not in self.members)

    def refresh(self, *, everybody: bool = False) -> list[Member]:
        """Look for new members and forget dead ones; the new ones. `everybody`: rely on no earlier answer."""
        self._bury()
        present = set(list_pids())
        self._strangers = set() if everybody else self._strangers & present
        unknown = present - self.members.keys() - self._strangers - self._never
        new = self._take_in({pid: found for pid in unknown if (found := read_process(pid))})
        self._strangers |= present - self.members.keys()
        self._forget_sessions()
        return new

    def alive(self) -> list[Member]:
        """The members that still run."""
        return [member for member in self.members.values() if member.alive]

    def close(self) -> None:
        """Let go of all pidfds."""
        for member in self.members.values():
            os.close(member.pidfd)
        self.members.clear()

    def _take_in(self, found: dict[int, Process]) -> list[Member]:
        """Adopt whoever belongs, until nobody is left whose parent or session does."""
        new: list[Member] = []
        while belonging := [process for process in found.values() if self._belongs(process)]:
            for process in belonging:
                del found[process.pid]
                member = hold(process.pid, process.start)
                if member is not None:
                    self._adopt(member)
                    new.append(member)
        return new

    def _belongs(self, process: Process) -> bool:
        # asked after the process was read: a parent that lives now was its parent then, and not a reused pid
        parent = self.members.get(process.ppid)
        return (parent is not None and parent.alive) or self._in_session(process)

    def _in_session(self, process: Process) -> bool:
        """Whether it is in a session of ours, asked after the process was read.

        The kernel gives the number away again only when nobody is left in the session and its leader, dead or not,
        was collected: one of ours that is still there proves that it is the same session.
        """
        start = self._leaders.get(process.session)
        if start is None:
            return False
        leader = read_process(process.session)
        if leader is not None and leader.start == start:
            return True
        return any(m.alive and now_in(m) == process.session for m in self.members.values())

    def _adopt(self, member: Member) -> None:
        known = self.members.get(member.process.pid)
        if known is not None:
            os.close(known.pidfd)
        self.members[member.process.pid] = member
        if member.process.session == member.process.pid:
            self._leaders[member.process.pid] = member.process.start

    def _bury(self) -> None:
        for pid in [pid for pid, member in self.members.items() if not member.alive]:
            os.close(self.members.pop(pid).pidfd)

    def _forget_sessions(self) -> None:
        """Drop sessions that have emptied: from then on their number may be somebody else's."""
        used = {now_in(member) for member in self.members.values()}
        for session, start in list(self._leaders.items()):
            leader = None if session in used else read_process(session)
            if session not in used and (leader is None or leader.start != start):
                del self._leaders[session]


def now_in(member: Member) -> int | None:
    """The session that a member is in now; it may have left the one that it was born in."""
    process = read_process(member.process.pid)
    return process.session if process and process.start == member.process.start else None
