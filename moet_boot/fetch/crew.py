"""Jobs in a few threads that nobody has to wait for: a thread may hang in a line that brings nothing."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

R = TypeVar("R")
GRACE_S = 2.0


def results_of(jobs: Sequence[Callable[[], R]], threads: int, stop: threading.Event) -> Iterator[R]:
    """Yield results as they come; the first failure is raised here.

    However this ends, `stop` is set and jobs get a moment to heed it. One that hangs is left behind: its thread does
    not keep the process from ending.
    """
    waiting: SimpleQueue[Callable[[], R]] = SimpleQueue()
    done: SimpleQueue[R | BaseException] = SimpleQueue()
    for job in jobs:
        waiting.put(job)

    def work() -> None:
        while not stop.is_set():
            try:
                job = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put(job())
            except BaseException as failure:  # noqa: BLE001  (raised again where the results are asked for)
                done.put(failure)

    crew = [threading.Thread(target=work, name=f"fetch-{number}", daemon=True) for number in range(threads)]
    for member in crew:
        member.start()
    try:
        for _ in jobs:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stop.set()
        until = time.monotonic() + GRACE_S
        for member in crew:
            member.join(max(until - time.monotonic(), 0))
