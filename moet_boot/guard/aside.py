"""Work that may block for seconds, done beside the guard's loop in a thread of its own."""

import os
import threading
from collections.abc import Callable

_STACK = 256 << 10
"""Bytes; the memory is locked, and the usual 8 MiB of stack would be locked with it."""


def start_beside(work: Callable[[], None], name: str) -> None:
    """Run something in a thread of its own, with a small stack and without the guard's priority."""

    def run() -> None:
        # the guard's own priority is for its eyes and its hands
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        work()

    before = threading.stack_size(_STACK)
    threading.Thread(target=run, name=name, daemon=True).start()
    threading.stack_size(before)


class Aside:
    """One thread that does one thing at a time. What it is asked while it is busy is refused, not queued."""

    def __init__(self, name: str) -> None:
        self._work: Callable[[], None] | None = None
        self._wanted = threading.Semaphore(0)
        start_beside(self._run, name)

    @property
    def busy(self) -> bool:
        """Whether the last work is not done yet."""
        return self._work is not None

    def ask(self, work: Callable[[], None]) -> bool:
        """Have it done, unless the thread is busy. `work` must not raise."""
        if self.busy:
            return False
        self._work = work
        self._wanted.release()
        return True

    def _run(self) -> None:
        while True:
            self._wanted.acquire()
            if self._work is not None:
                self._work()
            self._work = None
