"""Writing to disk beside the guard's loop: a disk may take seconds when memory is short, and the loop may not."""

import os
import threading
import time
from collections import deque

from moet_boot.guard.aside import start_beside

JOBS = 4096
"""What waits at most; beyond that the oldest is lost, so that a disk that hangs cannot fill the memory."""


class Pen:
    """One thread that writes what it is given, in order. Nobody waits for it."""

    def __init__(self, jobs: int = JOBS) -> None:
        self._jobs: deque[tuple[int, bytes, int | None]] = deque(maxlen=jobs)
        self._wanted = threading.Semaphore(0)
        self._complaint = ""
        self._busy = False
        start_beside(self._run, "pen")

    def write(self, fd: int, data: bytes) -> None:
        """Append to a file."""
        self._put(fd, data, None)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        """Write at a place in a file."""
        self._put(fd, data, offset)

    def complaint(self) -> str:
        """Why the last write failed, told once; empty when none did."""
        complaint, self._complaint = self._complaint, ""
        return complaint

    def flush(self, seconds: float) -> bool:
        """Wait until all is written, at most so long; whether it is."""
        until = time.monotonic() + seconds
        while (self._jobs or self._busy) and time.monotonic() < until:
            time.sleep(0.001)
        return not self._jobs and not self._busy

    def _put(self, fd: int, data: bytes, offset: int | None) -> None:
        self._jobs.append((fd, data, offset))
        self._wanted.release()

    def _run(self) -> None:
        while True:
            self._wanted.acquire()
            self._busy = True
            try:
                fd, data, offset = self._jobs.popleft()
                if offset is None:
                    os.write(fd, data)
                else:
                    os.pwrite(fd, data, offset)
            except IndexError:  # more was lost than is left
                pass
            except OSError as error:
                self._complaint = error.strerror or str(error)
            self._busy = False
