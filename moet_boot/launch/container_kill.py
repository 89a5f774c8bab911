"""Ending a running container: by its first process where we may, and through the engine."""

import signal
from collections.abc import Callable
from dataclasses import dataclass

from moet_boot.errors import MoetBootError
from moet_boot.launch.container_process import ContainerProcess
from moet_boot.launch.process import KILL_TIMEOUT_S, TERM_EVERY_S, Clock
from moet_boot.machine.bounded import start_reading

LOOK_S = 0.02


@dataclass
class ContainerKiller:
    """Ends one container. `through_engine` asks the engine to send a signal (`SIGTERM`), or raises MoetBootError."""

    process: ContainerProcess
    through_engine: Callable[[str], None]
    clock: Clock
    used: bool = False
    """Whether moet-boot tried to end it, so that nobody else is to blame."""

    def ask_to_end(self, deadline: float) -> int:
        """TERM every 2 s until it ended or the deadline; returns how often it was sent."""
        self.used = True
        terms, next_term = 0, self.clock.now()
        while self._lives_before(deadline):
            if self.clock.now() >= next_term:
                if not self.process.send(signal.SIGTERM):
                    self._through_engine(signal.SIGTERM)
                terms, next_term = terms + 1, self.clock.now() + TERM_EVERY_S
            self.clock.sleep(0.05)
        return terms

    def kill(self) -> None:
        """KILL at once, and again until it is dead or the time is up.

        The engine is needed where the process belongs to another user, and for a paused container, whose frozen
        processes cannot die before it resumes them.
        """
        if not self.process.is_alive():
            return
        self.used = True
        self.process.send(signal.SIGKILL)
        asked = start_reading(lambda: self._through_engine(signal.SIGKILL))
        # counted, because a person's second signal makes the clock jump over every deadline
        for _ in range(round(KILL_TIMEOUT_S / LOOK_S)):
            if not self.process.is_alive():
                return
            if asked.done() and not asked.result():
                asked = start_reading(lambda: self._through_engine(signal.SIGKILL))
            self.clock.sleep(LOOK_S)

    def _lives_before(self, deadline: float) -> bool:
        return self.process.is_alive() and self.clock.now() < deadline

    def _through_engine(self, number: signal.Signals) -> bool:
        try:
            self.through_engine(number.name)
        except MoetBootError:
            return False
        return True
