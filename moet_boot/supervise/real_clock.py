"""The real time, and the time of a person who has lost patience."""

import time
from collections.abc import Callable

LEAP_S = 3600.0


class RealClock:
    """The monotonic clock."""

    def now(self) -> float:
        """Seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class ImpatientClock(RealClock):
    """A clock for stopping a server: once `hurried` says so, it stands an hour later, and every grace is over."""

    def __init__(self, hurried: Callable[[], bool]) -> None:
        self._hurried = hurried
        self._leap = 0.0

    def now(self) -> float:
        """Seconds."""
        if not self._leap and self._hurried():
            self._leap = LEAP_S
        return time.monotonic() + self._leap
