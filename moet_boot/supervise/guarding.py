"""The real memory guard as the supervisor's loop uses it."""

import time
from collections.abc import Sequence
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.floors import Floors
from moet_boot.guard.handle import GuardHandle, start_guard
from moet_boot.guard.messages import GuardEvent, Target
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint
from moet_boot.supervise.afterwards import curve_points, spool_path
from moet_boot.supervise.effects import Server


class RunningGuard:
    """A guard process for one attempt; samples and events lie beside the receipt."""

    def __init__(self, handle: GuardHandle, *, leashed: bool) -> None:
        self._handle = handle
        self._leashed = leashed

    @property
    def pid(self) -> int:
        """The guard's pid: a stranger to the server's process tree."""
        return self._handle.pid

    @property
    def alive(self) -> bool:
        """Whether it still watches."""
        return self._handle.alive

    def watch(self, server: Server) -> None:
        """Guard this server."""
        pids = () if server.pid is None else (server.pid,)
        self._handle.guard(Target(pids=pids, leashed=self._leashed, cgroup=server.cgroup))

    def set_phase(self, phase: Phase) -> None:
        """Tell it which phase the boot is in."""
        self._handle.set_phase(phase)

    def note_progress(self) -> None:
        """Tell it that the engine showed a sign of progress."""
        self._handle.note_progress()

    def poll_events(self) -> Sequence[GuardEvent]:
        """What it did since the last call."""
        return self._handle.poll_events()

    def curve(self) -> Sequence[CurvePoint]:
        """All samples that its spool still holds."""
        try:
            return curve_points(self._handle.samples())
        except MoetBootError:
            return []

    def stop(self) -> None:
        """End it without touching the server."""
        self._handle.stop()


def start_real_guard(
    floors: Floors, folder: Path, attempt: int, *, leashed: bool, observe_only: bool = False
) -> RunningGuard:
    """Start a guard for one attempt. Raises MoetBootError when it does not come up."""
    config = GuardConfig(
        floors=floors,
        spool_path=spool_path(folder, attempt),
        events_path=folder / f"guard-{attempt}.ndjson",
        observe_only=observe_only,
        origin_s=time.monotonic(),
    )
    return RunningGuard(start_guard(config), leashed=leashed)
