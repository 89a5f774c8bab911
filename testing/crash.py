"""Runs work in a child process that is killed at its n-th call of the operating system's writing functions."""

import os
import signal
from collections.abc import Callable
from typing import Any

WRITING = ("pwrite", "fsync", "fdatasync", "ftruncate", "rename", "replace", "unlink", "mkdir")


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Run `work` in a fork and kill it with SIGKILL before call number `step`; whether it was killed.

    Raises AssertionError when the work fails by itself.
    """
    child = os.fork()
    if child == 0:
        _kill_before(step)
        try:
            work()
        except BaseException:  # noqa: BLE001  (a fork of the test must never come back as a second test run)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def _kill_before(step: int) -> None:
    left = step

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*args, **kwargs)

        return wrapper

    for name in WRITING:
        setattr(os, name, counted(getattr(os, name)))
