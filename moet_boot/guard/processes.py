"""Who is who in /proc: parents, sessions and start times."""

import os
from dataclasses import dataclass

_STATE, _PPID, _PGRP, _SESSION, _START = 0, 1, 2, 3, 19
"""Fields of /proc/PID/stat, counted from the one after the name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/PID/stat. `start`: clock ticks since the machine's boot; with the pid it is an identity."""

    pid: int
    name: str
    state: str
    ppid: int
    group: int
    session: int
    start: int


def parse_stat(text: bytes) -> Process | None:
    """The process of a stat line, or None when it is not one; the name may hold blanks and brackets."""
    opening, closing = text.find(b"("), text.rfind(b")")
    fields = text[closing + 1 :].split()
    if opening < 0 or closing < opening or len(fields) <= _START:
        return None
    try:
        return Process(
            pid=int(text[:opening]),
            name=text[opening + 1 : closing].decode(errors="replace"),
            state=fields[_STATE].decode(errors="replace"),
            ppid=int(fields[_PPID]),
            group=int(fields[_PGRP]),
            session=int(fields[_SESSION]),
            start=int(fields[_START]),
        )
    except ValueError:
        return None


def read_process(pid: int) -> Process | None:
    """The process with this pid now, or None when there is none; a zombie still counts."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return parse_stat(os.read(fd, 4096))
    except OSError:
        return None
    finally:
        os.close(fd)


def list_pids() -> list[int]:
    """The pids of all processes that this pid namespace shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  (a Path for each is slow)


class Births:
    """Notices that some process was born, anywhere, far more cheaply than by looking at all of them."""

    def __init__(self) -> None:
        self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        self._last = b""

    def any_new(self) -> bool:
        """Whether there was one since the last call; the first time there was. The last pid given is in the file."""
        newest = os.pread(self._loadavg, 128, 0).rsplit(b" ", 1)[-1]
        last, self._last = self._last, newest
        return newest != last

    def close(self) -> None:
        """Close the file."""
        os.close(self._loadavg)
