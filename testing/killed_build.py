"""Builds planes in a process that kills itself (SIGKILL) at a chosen system call: python -m testing.killed_build."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from moet_boot.planes import build

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


def in_order(jobs: Iterable[Any], make_work: Callable[[], Callable[[Any], Any]], threads: int) -> Iterator[Any]:
    """Each job when its result is asked for, in the thread that asks."""
    del threads
    return map(make_work(), jobs)


def main(arguments: list[str]) -> None:
    """Build slot by slot, dying at the given call of those that write."""
    folder, out, repo, revision, countdown, when = arguments
    state = [int(countdown)]
    for name in CALLS:
        setattr(os, name, counting(getattr(os, name), state, before=when == "before"))
    # a thread may be ahead of the journal by any number of slots
    setattr(build, "run_in_threads", in_order)  # noqa: B010  (not a name that mypy lets others set)
    build.build_planes(Path(folder), Path(out), repo=repo, revision=revision, threads=1)


if __name__ == "__main__":
    main(sys.argv[1:])
