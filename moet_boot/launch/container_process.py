"""A container's first process as a process of this machine.

It is watched and killed without the engine: the daemon may hang or restart just when that matters, and when the
first process dies, the kernel kills everybody else in the container's pid namespace.
"""

import os
import signal
import subprocess
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil

from moet_boot.guard.cgroup import find_cgroup, group_pids
from moet_boot.guard.kill import may_signal
from moet_boot.guard.leash import leash_for
from moet_boot.guard.tree import Member, hold
from moet_boot.launch.docker_engine import ContainerState

START_TOLERANCE_S = 10.0


class ContainerProcess:
    """The first process of a running container, held by a pidfd."""

    def __init__(self, member: Member, cgroup: Path | None) -> None:
        self._member = member
        self._leash: subprocess.Popen[bytes] | None = None
        self.cgroup = cgroup
        """The container's own folder in a cgroup file system that can kill a group, where there is one."""

    @property
    def pid(self) -> int:
        """Its pid on this machine."""
        return self._member.process.pid

    def is_alive(self) -> bool:
        """Whether it runs now."""
        return self._member.alive

    def pids(self) -> list[int]:
        """All pids of the container, as far as they are known here."""
        return (group_pids(self.cgroup) if self.cgroup else []) or [self.pid]

    def send(self, number: signal.Signals) -> bool:
        """Send it a signal; False when it is gone or belongs to a user that we may not signal."""
        return self._member.send(number)

    def leash(self) -> None:
        """From now on it dies with moet-boot, even if the guard dies too; no leash where we may not kill it."""
        if may_signal(self.pid):
            quiet = subprocess.DEVNULL
            self._leash = subprocess.Popen(
                leash_for(self.pid), stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )

    def close(self) -> None:
        """Let go of it, once it is dead."""
        if self._leash:
            self._leash.kill()
            self._leash.wait()
        with suppress(OSError):
            os.close(self._member.pidfd)


def hold_process(state: ContainerState) -> ContainerProcess | None:
    """The first process of this container, or None when this machine has no such process (any more)."""
    member = hold(state.pid, None) if state.pid is not None else None
    if member is None:
        return None
    if not _is_it(member.process.pid, state):
        os.close(member.pidfd)
        return None
    return ContainerProcess(member, find_cgroup(member.process.pid, state.id))


def _is_it(pid: int, state: ContainerState) -> bool:
    """By its control group, which bears the container's id, or by its start."""
    with suppress(OSError):
        if state.id in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"):
            return True
    with suppress(psutil.Error, ValueError):
        # the library knows microseconds, the engine says nanoseconds
        started = datetime.fromisoformat(state.started_at[:19] + "+00:00").timestamp()
        return abs(psutil.Process(pid).create_time() - started) < START_TOLERANCE_S
    return False
