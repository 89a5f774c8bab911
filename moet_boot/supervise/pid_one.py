"""The duties of process 1 in a container: pass signals on, collect orphans, end with the one real child.

The kernel gives them to nobody else, and a supervisor that collected every child would take those away that it
waits for itself. So process 1 stays this small, and everything else runs in a child of it.
"""

import os
import signal
from collections.abc import Sequence

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_KILLED_BY = 128


def hold_signals(argv: Sequence[str]) -> None:
    """For the entrypoint as process 1, before anything slow is imported: signals wait until somebody listens.

    The kernel drops what process 1 has no handler for, and `docker stop` would then wait in vain and kill.
    """
    if os.getpid() == 1 and list(argv[:1]) == ["entrypoint"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)


def let_signals_through() -> None:
    """End `hold_signals`: whoever listens gets what has waited."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)


def fork_below_init() -> int | None:
    """Fork. The child returns at once with None and goes on; process 1 returns the child's exit code at its end.

    128 plus the signal's number for a child that was killed. Call it before any thread is started.
    """
    waited_for = {*_PASSED_ON, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waited_for)
        return None
    return _serve(child, waited_for)


def init_apart() -> int | None:
    """`fork_below_init` where this is process 1; anywhere else None at once."""
    return fork_below_init() if os.getpid() == 1 else None


def _serve(child: int, waited_for: set[signal.Signals]) -> int:
    while True:
        number = signal.sigwaitinfo(waited_for).si_signo
        if number == signal.SIGCHLD:
            ended = _collect(child)
            if ended is not None:
                return ended
        else:
            # it is not collected yet, so its pid is nobody else's
            os.kill(child, number)


def _collect(child: int) -> int | None:
    """Collect everybody who has ended; the child's exit code if it is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == child:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else _KILLED_BY + os.WTERMSIG(status)
