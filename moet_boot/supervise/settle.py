"""Waiting for memory to come back after a server ended: measured, never slept through."""

from collections.abc import Callable
from dataclasses import dataclass

from moet_boot.supervise.effects import Clock, Memory
from moet_boot.units import MIB, format_bytes

STEADY_BYTES = 256 * MIB
STEADY_LOOKS = 3


@dataclass(frozen=True)
class Settled:
    """How the memory came back. `enough`: it reached what the next boot needs."""

    enough: bool
    seconds: float
    available_bytes: int | None
    words: str


def wait_for_memory(
    memory: Memory,
    clock: Clock,
    *,
    needed_bytes: int,
    timeout_s: float,
    cancelled: Callable[[], bool],
    looked: Callable[[int], None] = lambda _available: None,
    look_every_s: float = 1.0,
) -> Settled:
    """Poll MemAvailable until it covers `needed_bytes` and has stopped rising, or the time is up or `cancelled`.

    `looked` hears of each look.

    The driver gives pages back late on unified memory (field notes 7: 60 s to minutes), so neither "exited"
    nor a fixed wait is evidence.
    """
    started = clock.now()
    last: int | None = None
    steady = 0
    while True:
        seen = memory.available_bytes()
        elapsed = clock.now() - started
        if seen is None:
            return Settled(False, elapsed, None, "MemAvailable cannot be read")
        looked(seen)
        steady = steady + 1 if last is not None and seen - last < STEADY_BYTES else 0
        last = seen
        if seen >= needed_bytes and steady >= STEADY_LOOKS:
            return Settled(True, elapsed, seen, f"{format_bytes(seen)} available again after {elapsed:.0f} s")
        if elapsed >= timeout_s or cancelled():
            words = f"{format_bytes(seen)} available after {elapsed:.0f} s, {format_bytes(needed_bytes)} needed"
            return Settled(seen >= needed_bytes, elapsed, seen, words)
        clock.sleep(look_every_s)
