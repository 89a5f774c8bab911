"""The leash: the server's parent. If moet-boot dies in whatever way, the whole server dies with it.

It runs the command as its child, adopts every orphan below it (so that whoever forks twice or calls setsid is still
found), passes signals on, sweeps what the command leaves behind, and ends as the command ended. It can also watch a
process that somebody else started, such as a container's.

A parent-death signal alone would not do: it reaches the API server, and its engine workers live on (engine notes,
section 4). Here it is only the second line, for a leash that is killed itself.
"""

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from moet_boot.guard import linux
from moet_boot.guard.isolated import isolated
from moet_boot.guard.kill import Killer
from moet_boot.guard.tree import Tree

OOM_SCORE_ADJ = 800
"""So that the kernel picks the server before the host's daemons (field notes: unified memory, section 6)."""
SWEEP_S = 2.0
"""What the command leaves behind gets so long after TERM: an orphaned engine needs seconds to unlink its segments."""
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_CANNOT_RUN = 127
_KILLED = 128 + signal.SIGKILL
_STRIKE_S = 0.005
_LOOK_S = 0.5


def leashed(command: Sequence[str], *, oom_score_adj: int = OOM_SCORE_ADJ, python: str = sys.executable) -> list[str]:
    """The argv that runs a command on a leash that the calling process holds: when this one ends, all of it ends.

    Start it as a direct child, with the server's environment and, as usual, in a new session. Its pid is then the
    target for the guard (`Target((pid,), leashed=True)`), and its exit is the server's.
    """
    return isolated("moet_boot.guard.leash", str(os.getpid()), str(oom_score_adj), "--", *command, python=python)


def leash_for(pid: int, *, python: str = sys.executable) -> list[str]:
    """The argv of a leash for a running process and its descendants; it ends when they have ended."""
    return isolated("moet_boot.guard.leash", str(os.getpid()), "0", "--watch", str(pid), python=python)


class Leash:
    """Waits for the end of the command or of the supervisor, whichever comes first."""

    def __init__(self, supervisor: int) -> None:
        self._supervisor = os.pidfd_open(supervisor)
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._tree = Tree(never=(supervisor,))
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def hold(self, pid: int, *, ours: bool) -> int:
        """Hold a process until it or the supervisor ends; its wait status (0 for one that is not our child)."""
        self._tree.add_root(pid)
        status: int | None = None
        while status is None:
            ready, _, _ = select.select([self._supervisor, self._woken], [], [], None if ours else _LOOK_S)
            if self._supervisor in ready:
                self._end_all()
                return signal.SIGKILL
            signals = self._signals()
            if ours:
                _pass_on(signals, pid)
                status = _reap(pid)
            elif not self._tree.alive():
                status = 0
        return status

    def sweep(self) -> None:
        """End what the command left behind: TERM, some patience, KILL."""
        self._tree.add_children_of(os.getpid())
        self._tree.refresh()
        for member in self._tree.alive():
            member.send(signal.SIGTERM)
        until = time.monotonic() + SWEEP_S
        while self._tree.alive() and time.monotonic() < until:
            time.sleep(_STRIKE_S)
            _reap(-1)
        self._end_all()

    def _end_all(self) -> None:
        killer = Killer(self._tree)
        pause = _STRIKE_S
        while self._tree.add_children_of(os.getpid()) + len(killer.strike().left):
            time.sleep(pause)
            pause = min(2 * pause, _LOOK_S)
            _reap(-1)

    def _signals(self) -> bytes:
        """The numbers of the signals that have come."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._woken, 64)
        return b""


def _pass_on(signals: bytes, pid: int) -> None:
    for number in signals:
        if number in _PASSED_ON:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _reap(wanted: int) -> int | None:
    """Bury dead children; the wait status of the wanted one if it was among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == wanted:
                found = status
    return found


def main(argv: list[str]) -> int:
    """Run or watch; see the module. Ends as the command ended, by the same signal if it was one."""
    supervisor, adjust, mode, *rest = argv
    for number in (*_PASSED_ON, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    leash = Leash(int(supervisor))
    if os.getppid() != int(supervisor):
        return _KILLED  # it died before we were here: nothing is started
    linux.adopt_orphans()
    linux.set_process_name("moet-leash")
    linux.lock_memory()
    if mode == "--watch":
        leash.hold(int(rest[0]), ours=False)
        return 0
    status = leash.hold(_start(rest, int(adjust)), ours=True)
    leash.sweep()
    return _end_alike(status)


def _start(command: list[str], adjust: int) -> int:
    leash = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(command, adjust, leash)
    return pid


def _become(command: list[str], adjust: int, leash: int) -> NoReturn:
    """In the child: turn into the command, or say why not."""
    linux.die_with_parent()
    if os.getppid() != leash:
        os._exit(_KILLED)
    for number in (*_PASSED_ON, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    linux.set_oom_score_adj(adjust)
    try:
        os.execvp(command[0], command)  # noqa: S606  (the server's own argv; a shell is what must not be)
    except OSError as error:
        os.write(2, f"moet-boot: cannot run {command[0]}: {error.strerror}\n".encode())
        os._exit(_CANNOT_RUN)


def _end_alike(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its core, if it was to
    with contextlib.suppress(OSError, ValueError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code
