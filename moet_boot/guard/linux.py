"""The few Linux calls that Python has no function for. Every one says whether it worked."""

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_MCL_CURRENT_AND_FUTURE = 3
_ARG_START = 45
"""In /proc/self/stat, counted from the field after the name."""

_FIRST, _DYING = 2, 1
"""Real-time priorities of the guard and of those whom it has killed: it must be able to go on killing."""

_libc = ctypes.CDLL(None, use_errno=True)


def _errno(result: int) -> int:
    return 0 if result == 0 else ctypes.get_errno()


def lock_memory() -> int:
    """Keep every page of this process in RAM, those to come included (mlockall(2)); 0, or the errno."""
    return _errno(_libc.mlockall(_MCL_CURRENT_AND_FUTURE))


def adopt_orphans() -> int:
    """Become the parent of every orphaned descendant (PR_SET_CHILD_SUBREAPER); 0, or the errno."""
    return _errno(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def die_with_parent() -> int:
    """Be killed when the parent's thread that forked us ends (PR_SET_PDEATHSIG); 0, or the errno.

    The parent may be gone before this is called: compare os.getppid() afterwards.
    """
    return _errno(_libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0))


def set_process_name(name: str) -> int:
    """The name in /proc/PID/comm, 15 bytes at most, and in place of the arguments; 0, or the errno.

    Somebody who ends a hung server with `pkill -9 -f python` or `-f vllm` must not end its watchers with it: the
    engine's own workers have overwritten their arguments too, and would live on alone.
    """
    _overwrite_arguments(name.encode())
    return _errno(_libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0))


def _overwrite_arguments(text: bytes) -> None:
    """What /proc/PID/cmdline shows is the memory that the kernel put the arguments into (proc(5), arg_start)."""
    with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  (pathlib is slow to start)
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_START + 1])
    if 0 < len(text) < end - start:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, len(text))


def run_first() -> bool:
    """Be scheduled before every ordinary process, or at least be nice to none of them. Whether it worked."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(_FIRST))
    except OSError:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        except OSError:
            return False
    return True


def let_run(pid: int) -> None:
    """Let a dying process run before ordinary ones, so that its memory comes back soon; Android's lmkd does the same.

    Without the right to, or when it is gone, nothing happens.
    """
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  (a Path for each is slow)
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(_DYING))


def set_oom_score_adj(*wanted: int) -> int | None:
    """The first of the wanted values that the kernel accepts for this process, or None."""
    for value in wanted:
        try:
            fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            os.write(fd, b"%d" % value)
        except OSError:
            continue
        else:
            return value
        finally:
            os.close(fd)
    return None
