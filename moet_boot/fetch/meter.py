"""Progress of several threads as one, and the way to stop them all."""

import threading

from moet_boot.planes.progress import Progress


class StoppedError(Exception):
    """Somebody else failed, or the user wants to end: give up."""


class Meter:
    """Counts bytes of a stage for all threads and tells `report`, one at a time."""

    def __init__(self, total: int, report: Progress, stop: threading.Event) -> None:
        self._done, self._total = 0, total
        self._report = report
        self._stop = stop
        self._lock = threading.Lock()

    def tick(self, count: int) -> None:
        """Count bytes. Raises StoppedError once everybody is to stop."""
        if self._stop.is_set():
            raise StoppedError
        with self._lock:
            self._done += count
            self._report(self._done, self._total)

    def expect(self, more: int) -> None:
        """There is more to do than it seemed."""
        with self._lock:
            self._total += more

    def relay(self) -> Progress:
        """A callback for work that reports its own running total."""
        before = 0

        def report(done: int, total: int) -> None:
            nonlocal before
            del total
            count, before = done - before, done
            self.tick(count)

        return report
