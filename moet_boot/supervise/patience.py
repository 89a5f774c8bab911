"""How often a stop that is under way lost its patience: by one more signal, or because nobody guards any more."""

from dataclasses import dataclass
from typing import Protocol

from moet_boot.supervise.signals import SignalQueue


class Watcher(Protocol):
    """The guard, as far as it matters here."""

    @property
    def alive(self) -> bool:
        """Whether it still watches."""


@dataclass
class Patience:
    """Of one attempt; `guard` is None until it was started."""

    signals: SignalQueue
    guard: Watcher | None = None

    def lost(self) -> int:
        """Counts up; a server that is being stopped must not run on unguarded through its grace."""
        return self.signals.arrived + int(self.guard is not None and not self.guard.alive)
