"""Processes as /proc shows them, each with its start time, so that a pid used again is never mistaken."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_STATE, _PARENT, _GROUP, _SESSION, _STARTED = 0, 1, 2, 3, 19
"""Positions in /proc/PID/stat behind the name (proc_pid_stat(5) counts from 3)."""


@dataclass(frozen=True)
class Process:
    """One process. `pid` and `started` (clock ticks since boot) together are its identity."""

    pid: int
    started: int
    parent: int
    group: int
    session: int
    state: str
    name: str

    @property
    def is_zombie(self) -> bool:
        """Dead, and not yet collected by its parent."""
        return self.state in {"Z", "X"}

    @property
    def words(self) -> str:
        """For reports: `VLLM::Worker (4711)`."""
        return f"{self.name} ({self.pid})"


def read_process(pid: int, proc: Path = PROC) -> Process | None:
    """The process with this pid now, or None if there is none."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # the name may hold blanks and brackets; nothing after it does
    head, found, tail = text.rpartition(") ")
    fields = tail.split()
    if not found or len(fields) <= _STARTED:
        return None
    return Process(
        pid=pid,
        started=int(fields[_STARTED]),
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        state=fields[_STATE],
        name=head.partition(" (")[2],
    )


def all_processes(proc: Path = PROC) -> Iterator[Process]:
    """Every process that is there now."""
    for entry in os.scandir(proc):
        if entry.name.isdigit() and (process := read_process(int(entry.name), proc)):
            yield process


def environment(pid: int, proc: Path = PROC) -> list[bytes]:
    """The `NAME=value` strings that the process was started with; empty where they cannot be read."""
    try:
        return (proc / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def send(process: Process, number: int) -> bool:
    """Signal exactly this process; False if it is gone.

    The pid is pinned first and its start time compared after that, so that no other process can be hit.
    Raises PermissionError if the process belongs to somebody else.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        now = read_process(process.pid)
        if now is None or now.started != process.started:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    else:
        return True
    finally:
        os.close(handle)
