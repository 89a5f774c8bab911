"""What the kernel says of short memory: lines of its log, and the events of the server's control group.

They are written down and told, and never a reason to act: a healthy machine showed 55 of the driver's lines in three
days, and some came when it was too late (field notes on unified memory, section 5).
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from moet_boot.guard.sampler import open_if_there

_TELLING = (b"NV_ERR_NO_MEMORY", b"NVRM: Xid", b"Out of memory: Killed", b"emory cgroup out of memory", b"oom-kill:")
_EVENTS = (b"max", b"oom", b"oom_kill")
_RECORD = 8 << 10
RECORDS = 64
"""Read at one look at most, so that a flood of the kernel's does not hold the guard up."""
_LINE = 200
_TOLD = 3


class Witness(Protocol):
    """Somebody who tells what happened since it was last asked."""

    name: str

    def heard(self) -> str:
        """A few words, or nothing."""


class KernelLog:
    """Lines of the kernel's log that tell of short memory; silent where it may not be read."""

    name = "kernel log"

    def __init__(self, path: Path = Path("/dev/kmsg")) -> None:
        self._fd: int | None = None
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def heard(self) -> str:
        """What it said: the first lines, and how many more there were."""
        lines = [line for line in self._records() if any(word in line for word in _TELLING)]
        more = f" (and {len(lines) - _TOLD} more such lines)" if len(lines) > _TOLD else ""
        shown = [line.decode("utf-8", "replace")[:_LINE] for line in lines[:_TOLD]]
        return f"kernel log: {' | '.join(shown)}{more}" if lines else ""

    def _records(self) -> Iterable[bytes]:
        for _ in range(RECORDS if self._fd is not None else 0):
            try:
                record = os.read(self._fd, _RECORD) if self._fd is not None else b""
            except BlockingIOError:
                return
            except OSError:  # EPIPE: what was not read in time is overwritten, and the next read goes on behind it
                continue
            if not record:
                return
            yield from (line.partition(b";")[2] for line in record.splitlines() if not line.startswith(b" "))

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class GroupEvents:
    """How often a control group (v2) was at its limit, and how often the kernel killed in it."""

    name = "control group"

    def __init__(self, group: Path) -> None:
        self._fd = open_if_there(group / "memory.events")
        self._last = self._counts()

    def heard(self) -> str:
        """What has happened to it."""
        before, self._last = self._last, self._counts()
        grown = {name: count for name, count in self._last.items() if count > before.get(name, 0)}
        changes = [f"{name} {before.get(name, 0)} -> {count}" for name, count in grown.items()]
        return f"memory events of the server's control group: {', '.join(changes)}" if changes else ""

    def _counts(self) -> dict[str, int]:
        try:
            text = os.pread(self._fd, _RECORD, 0) if self._fd is not None else b""
        except OSError:  # the group is gone
            return {}
        rows = [line.partition(b" ") for line in text.splitlines()]
        return {name.decode(): int(count) for name, _, count in rows if name in _EVENTS and count.isdigit()}

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
