"""The real time, and the time of a person who has lost patience."""

import time
from collections.abc import Callable

LEAP_S = 3600.0
MEANWHILE_S = 0.5


class RealClock:
    """The monotonic clock."""

    def now(self) -> float:
        """Seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class ImpatientClock(RealClock):
    """A clock for stopping a server: each time that patience is lost it leaps by an hour, past the end of a grace.

    What came before a grace begins, such as the signal that began it, does not shorten it.
    """

    def __init__(self, lost: Callable[[], int], meanwhile: Callable[[], object] = lambda: None) -> None:
        """`lost`: how often so far. `meanwhile`: done twice a second while somebody waits (a watchdog wants signs)."""
        self._lost, self._meanwhile = lost, meanwhile
        self._next_sign = 0.0

    def now(self) -> float:
        """Seconds."""
        return time.monotonic() + LEAP_S * self._lost()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        if time.monotonic() >= self._next_sign:
            self._next_sign = time.monotonic() + MEANWHILE_S
            self._meanwhile()
        super().sleep(seconds)
