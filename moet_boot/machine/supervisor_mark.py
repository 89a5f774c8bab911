"""Which moet-boot started a container, written so that another one can tell whether it still runs."""

import os
from enum import Enum
from pathlib import Path

from moet_boot.guard.processes import read_process


class Owner(Enum):
    """Who a mark stands for, as far as this process can see."""

    SELF = "this process"
    ALIVE = "another moet-boot that runs"
    GONE = "a moet-boot that has ended"
    UNSEEN = "a moet-boot whose processes cannot be seen from here"


def own_mark() -> str:
    """`NAMESPACE:PID:START`: the pid namespace, the pid in it, and the start in clock ticks since the boot."""
    return _mark(os.getpid())


def owner_of(mark: str) -> Owner:
    """Who wrote this mark; a text that is no mark was written by nobody who still lives."""
    namespace, _, rest = mark.partition(":")
    pid, _, _ = rest.partition(":")
    if not pid.isdigit():
        return Owner.GONE
    if namespace != _namespace():
        return Owner.UNSEEN
    if int(pid) == os.getpid():
        return Owner.SELF if mark == own_mark() else Owner.GONE
    process = read_process(int(pid))
    if process is None or process.state in {"Z", "X"}:
        return Owner.GONE
    return Owner.ALIVE if mark == _mark(process.pid) else Owner.GONE


def is_gone(mark: str) -> bool:
    """Whether the moet-boot of this mark has certainly ended."""
    return owner_of(mark) is Owner.GONE


def _mark(pid: int) -> str:
    process = read_process(pid)
    return f"{_namespace()}:{pid}:{process.start if process else 0}"


def _namespace() -> str:
    """The inode of our pid namespace: the same pid in another one is somebody else."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)
