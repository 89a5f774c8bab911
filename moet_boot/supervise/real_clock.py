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
    """A clock for stopping a server: it leaps by an hour with each signal, so one more ends a grace that has begun.

    The signal that began it, and any that came with it, were there before: they do not shorten it.
    """

    def __init__(self, signals: Callable[[], int]) -> None:
        """`signals`: how many have arrived so far."""
        self._signals = signals

    def now(self) -> float:
        """Seconds."""
        return time.monotonic() + LEAP_S * self._signals()
