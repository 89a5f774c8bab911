"""TERM and HUP end a planes command the way Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from moet_boot.exits import Exit


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let TERM and HUP unwind the block, so that temporary files go and locks are freed; a second one kills.

    A signal that is ignored (`nohup`) or has a handler already is left alone.
    """
    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if _is_free(number)]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _is_free(number: signal.Signals) -> bool:
    in_main_thread = threading.current_thread() is threading.main_thread()  # only it may set handlers
    return in_main_thread and signal.getsignal(number) is signal.SIG_DFL


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(Exit.TERMINATED)
