"""Builds planes in a process that kills itself (SIGKILL) at a chosen system call: python -m testing.killed_build."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moet_boot.planes.build import build_planes

CALLS = ("pwrite", "fsync", "rename")


def counting(call: Callable[..., Any], state: list[int], *, before: bool) -> Callable[..., Any]:
    """Wrap a system call: when the countdown ends, die before or after it."""

    def wrapped(*args: Any) -> Any:
        state[0] -= 1
        if state[0] == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*args)
        if state[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return wrapped


def main(arguments: list[str]) -> None:
    """Build with one thread, dying at the given call of those that write."""
    folder, out, repo, revision, countdown, when = arguments
    state = [int(countdown)]
    for name in CALLS:
        setattr(os, name, counting(getattr(os, name), state, before=when == "before"))
    build_planes(Path(folder), Path(out), repo=repo, revision=revision, threads=1)


if __name__ == "__main__":
    main(sys.argv[1:])
