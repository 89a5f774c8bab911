"""Who hears of a boot: the status file, the endpoints' situation, systemd."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from moet_boot.errors import MoetBootError
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.notify import SystemdNotifier
from moet_boot.supervise.situation import Situation
from moet_boot.supervise.status import Status, remove_status, write_status

RECENT_POINTS = 60
EXTEND_SECONDS = 120
"""How much more time systemd is asked for, again and again while it waits for readiness: phases have deadlines here."""
EXTEND_EVERY_S = 30.0


class Several(Listener):
    """Passes everything on to several listeners, in their order."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = tuple(listeners)

    def phase(self, phase: Phase, at_s: float) -> None:
        for each in self._listeners:
            each.phase(phase, at_s)

    def ready(self, at_s: float) -> None:
        for each in self._listeners:
            each.ready(at_s)

    def down(self) -> None:
        for each in self._listeners:
            each.down()

    def doubt(self, words: str) -> None:
        for each in self._listeners:
            each.doubt(words)

    def answer(self, question: str, text: str) -> None:
        for each in self._listeners:
            each.answer(question, text)

    def note(self, text: str) -> None:
        for each in self._listeners:
            each.note(text)

    def tick(self, available_bytes: int | None) -> None:
        for each in self._listeners:
            each.tick(available_bytes)

    def begin(self, pid: int | None) -> None:
        for each in self._listeners:
            each.begin(pid)


class SituationListener(Listener):
    """Keeps the situation that the endpoints answer from."""

    def __init__(self, situation: Situation, floor_in: Callable[[Phase], int]) -> None:
        """`floor_in`: what the guard wants to see left in a phase, in bytes."""
        self._now, self._floor_in = situation, floor_in
        self._now.floor_bytes = floor_in(situation.phase)
        self._begun = False

    def begin(self, pid: int | None) -> None:
        del pid
        self._now.restarts += self._begun
        self._begun = True
        self.down()

    def down(self) -> None:
        self._now.ready = False
        self._enter(Phase.STARTING)
        self._now.boot_seconds = None
        self._now.doubt = ""

    def phase(self, phase: Phase, at_s: float) -> None:
        self._enter(phase)
        self._now.phase_seconds[phase] = at_s

    def doubt(self, words: str) -> None:
        self._now.doubt = words

    def _enter(self, phase: Phase) -> None:
        self._now.phase, self._now.floor_bytes = phase, self._floor_in(phase)

    def ready(self, at_s: float) -> None:
        self._now.ready = True
        self._now.boot_seconds = at_s
        self._now.note = ""

    def note(self, text: str) -> None:
        self._now.note = text
        self._now.guard_actions += text.startswith("memory guard:")

    def tick(self, available_bytes: int | None) -> None:
        now = self._now
        now.available_bytes = available_bytes
        if available_bytes is not None:
            now.lowest_available_bytes = min(now.lowest_available_bytes or available_bytes, available_bytes)


class StatusFile(Listener):
    """Keeps the status file of a server fresh while it is supervised."""

    def __init__(self, status: Status, situation: Situation, clock: Callable[[], float] = time.time) -> None:
        self._status, self._now, self._clock = status, situation, clock

    def begin(self, pid: int | None) -> None:
        self._status.server_pid = pid
        self._write()

    def phase(self, phase: Phase, at_s: float) -> None:
        del phase, at_s
        self._write()

    def ready(self, at_s: float) -> None:
        del at_s
        self._write()

    def down(self) -> None:
        self._write()

    def note(self, text: str) -> None:
        self._status.note = text
        self._write()

    def tick(self, available_bytes: int | None) -> None:
        if available_bytes is not None:
            point = CurvePoint(
                t_s=self._clock() - self._status.started_at, available_bytes=available_bytes, free_bytes=0
            )
            self._status.recent = [*self._status.recent, point][-RECENT_POINTS:]
        self._write()

    def close(self) -> None:
        """Forget the server."""
        remove_status(self._status.port)

    def _write(self) -> None:
        status, now = self._status, self._now
        status.phase = now.phase.words
        status.ready = now.ready
        status.restarts = now.restarts
        status.floor_bytes = now.floor_bytes
        status.available_bytes = now.available_bytes
        status.lowest_available_bytes = now.lowest_available_bytes
        status.updated_at = self._clock()
        # a full disk must not end a server that is well; the next tick tries again
        with suppress(OSError, MoetBootError):
            write_status(status)


class Systemd(Listener):
    """Tells systemd about phases and readiness, asks it for time while there is progress, feeds its watchdog."""

    def __init__(self, notifier: SystemdNotifier, clock: Callable[[], float] = time.monotonic) -> None:
        self._notifier, self._clock = notifier, clock
        self._next_sign = 0.0
        self._next_request: float | None = 0.0

    def phase(self, phase: Phase, at_s: float) -> None:
        del at_s
        self._notifier.send(f"STATUS={phase.words}", f"MAINPID={os.getpid()}")

    def ready(self, at_s: float) -> None:
        self._next_request = None
        self._notifier.send("READY=1", f"STATUS=serving, ready after {at_s:.0f} s")

    def note(self, text: str) -> None:
        # a line break would end the status and begin another message
        self._notifier.send(f"STATUS={' '.join(text.split())}")

    def tick(self, available_bytes: int | None) -> None:
        del available_bytes
        now, interval = self._clock(), self._notifier.watchdog_s
        if interval is not None and now >= self._next_sign:
            self._next_sign = now + interval / 2
            self._notifier.send("WATCHDOG=1")
        if self._next_request is not None and now >= self._next_request:
            self._next_request = now + EXTEND_EVERY_S
            self._notifier.send(f"EXTEND_TIMEOUT_USEC={EXTEND_SECONDS * 1_000_000}")
