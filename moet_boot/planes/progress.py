"""How long work tells its caller how far it is; the domain knows no terminal."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all), in the caller's thread, after each piece of work."""


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""
    del done, total
