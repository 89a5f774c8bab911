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
    ELSEWHERE = "a moet-boot of another machine, or from before this one was started"
    """What such a one left running runs on another machine: an engine's socket may lead there."""


def own_mark() -> str:
    """`BOOT.NAMESPACE:PID:START`: this start of the machine, the pid namespace, the pid in it, its start in ticks."""
    return _mark(os.getpid())


def owner_of(mark: str) -> Owner:
    """Who wrote this mark; a text that is no mark was written by nobody who still lives."""
    namespace, _, rest = mark.partition(":")
    pid, _, _ = rest.partition(":")
    if not pid.isdigit():
        return Owner.GONE
    if namespace.partition(".")[0] != _boot():
        return Owner.ELSEWHERE
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
    """Where our pid counts. Every machine's first namespace has the same inode, so the machine's start is in it."""
    return f"{_boot()}.{Path('/proc/self/ns/pid').stat().st_ino}"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
