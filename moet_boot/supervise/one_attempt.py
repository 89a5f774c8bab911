"""One attempt with the real guard, whatever the runtime of the server is."""

from dataclasses import dataclass
from pathlib import Path

from moet_boot.guard.floors import floors_of
from moet_boot.preflight import Prepared
from moet_boot.supervise.attempt import BootAttempt, Hands
from moet_boot.supervise.attempt_end import AttemptEnd
from moet_boot.supervise.effects import Server
from moet_boot.supervise.guarding import RunningGuard, start_real_guard
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.memory_now import MachineMemory
from moet_boot.supervise.patience import Patience
from moet_boot.supervise.prober import HttpProber
from moet_boot.supervise.real_clock import RealClock
from moet_boot.supervise.signals import SignalQueue
from moet_boot.supervise.timing import Timing


@dataclass(frozen=True)
class Supervision:
    """What all attempts of one session share. `folder`: where the receipt, the logs and the samples lie."""

    prepared: Prepared
    folder: Path
    journal: Journal
    listener: Listener
    signals: SignalQueue
    prober: HttpProber
    memory: MachineMemory
    timing: Timing
    stop_when_ready: bool = False
    observe_only: bool = False

    def look(self) -> None:
        """Tell the listeners that moet-boot lives, while it waits for something."""
        self.listener.tick(self.memory.available_bytes())

    def log_path(self, number: int) -> Path:
        """The server's log of one attempt."""
        return self.folder / f"server-{number}.log"


def run_attempt(shared: Supervision, server: Server, number: int, *, leashed: bool, patience: Patience) -> AttemptEnd:
    """Start the guard, then the server, and watch both to the end. `leashed`: the server's pid is its leash's.

    `patience`: what the server's own clock asks; it learns of the guard here.
    """
    profile = shared.prepared.profile

    def start_guard() -> RunningGuard:
        floors = floors_of(profile.guard)
        guard = start_real_guard(floors, shared.folder, number, leashed=leashed, observe_only=shared.observe_only)
        patience.guard = guard
        return guard

    return BootAttempt(
        plan=shared.prepared.plan,
        deadlines={phase: deadline.seconds for phase, deadline in profile.deadlines.items()},
        hands=Hands(
            server=server,
            start_guard=start_guard,
            prober=shared.prober,
            clock=RealClock(),
            journal=shared.journal,
            listener=shared.listener,
            signals=shared.signals,
        ),
        timing=shared.timing,
        stop_when_ready=shared.stop_when_ready,
    ).run()
