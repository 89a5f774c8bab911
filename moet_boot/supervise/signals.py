"""Signals to moet-boot: handlers only enqueue, the loop decides."""

import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from moet_boot.exits import Exit

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


SIGNAL_EXITS: dict[int, Exit] = {
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGHUP: Exit.TERMINATED,
}


def leave_on_signals() -> None:
    """Until a SignalQueue takes over, a signal ends the process with its exit code: nothing runs yet."""
    for number in _not_waived():
        signal.signal(number, _leave)


def _not_waived() -> list[signal.Signals]:
    """The signals to handle: who starts us with `nohup` wants the server to outlive the terminal."""
    waived = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in HANDLED if not (waived and number is signal.SIGHUP)]


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(int(SIGNAL_EXITS[number]))


class Interrupted(BaseException):
    """A signal arrived while nothing was running that needs a clean stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class SignalQueue:
    """The signals that arrived and were not handled yet."""

    def __init__(self) -> None:
        self._arrived: deque[int] = deque(maxlen=16)
        self._abrupt = False
        self.arrived = 0
        """How many came so far, those that were handled too."""

    def install(self) -> None:
        """Take over TERM, INT and HUP for the rest of the process's life."""
        for number in _not_waived():
            signal.signal(number, self._enqueue)

    def put(self, number: int) -> None:
        """Enqueue a signal as if it had arrived."""
        self.arrived += 1
        self._arrived.append(number)

    def take(self) -> int | None:
        """The next signal, or None."""
        return self._arrived.popleft() if self._arrived else None

    @property
    def waiting(self) -> bool:
        """Whether a signal waits: what is under way should come to an end."""
        return bool(self._arrived)

    @contextmanager
    def abrupt(self) -> Iterator[None]:
        """Within this block a signal raises Interrupted at once: nothing is running that could be left behind."""
        self._abrupt = True
        try:
            yield
        finally:
            self._abrupt = False

    def _enqueue(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._abrupt:
            raise Interrupted(number)
        self.put(number)
