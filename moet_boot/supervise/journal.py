"""Keeps the receipt of a boot up to date on disk while the boot goes on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from moet_boot.errors import MoetBootError
from moet_boot.exits import Exit
from moet_boot.guard.messages import GuardEvent
from moet_boot.phases import Phase
from moet_boot.receipts.curve import extended
from moet_boot.receipts.model import Attempt, CurvePoint, Failure, GuardAction, Outcome, PhaseRecord, Receipt
from moet_boot.receipts.store import ReceiptStore
from moet_boot.supervise.effects import Memory

CURVE_POINTS = 1200
"""Of the boot, and again of what came after it."""


class Journal:
    """Writes one receipt: after every change that a later reader would miss.

    A moet-boot that is killed leaves the receipt as of the last change, its outcome still `running`. No boot begins
    without a receipt; a disk that fills up later is no reason to end a server: `complain` hears of it, once.
    """

    def __init__(self, receipt: Receipt, store: ReceiptStore, memory: Memory) -> None:
        self.receipt = receipt
        self._store = store
        self._memory = memory
        self._before_host: int | None = None
        self._before_gpu: int | None = None
        self._kept = False
        self.complain: Callable[[str], None] = lambda _text: None
        self.trouble = ""
        """Why the receipt on disk is not up to date, if it is not."""

    @property
    def attempt(self) -> Attempt:
        """The attempt that is under way."""
        return self.receipt.attempts[-1]

    def begin_attempt(self) -> None:
        """Open a new attempt; memory is measured now, before anything starts.

        Raises MoetBootError when the receipt cannot even be begun.
        """
        self._before_host = self._memory.available_bytes()
        self._before_gpu = self._memory.gpu_used_bytes()
        self.receipt.attempts.append(
            Attempt(
                started_at=now_iso(),
                available_before_bytes=self._before_host,
                phases=[PhaseRecord(phase=Phase.STARTING, started_s=0.0)],
            )
        )
        self._write(needed=not self._kept)

    def enter_phase(self, phase: Phase, at_s: float) -> None:
        """Close the phase that was and open the next one."""
        self.attempt.phases[-1].ended_s = at_s
        self.attempt.phases.append(PhaseRecord(phase=phase, started_s=at_s))
        self._write()

    def measure(self) -> int | None:
        """Take one look at the memory for the phase's peaks; returns MemAvailable in bytes."""
        available = self._memory.available_bytes()
        if available is not None:
            self._note_available(self.attempt.phases[-1], available)
        gpu = self._memory.gpu_used_bytes()
        if gpu is not None and self._before_gpu is not None:
            record = self.attempt.phases[-1]
            record.peak_gpu_bytes = max(record.peak_gpu_bytes or 0, gpu - self._before_gpu)
        return available

    def guard_event(self, event: GuardEvent) -> None:
        """Record what the guard did."""
        self.attempt.guard_actions.append(GuardAction(at_s=event.at_s, action=event.action, reason=event.reason))
        self._write()

    def ready(self, at_s: float, curve: Sequence[CurvePoint] = ()) -> None:
        """Record readiness, and the boot's curve: the guard's ring of samples loses it while a server runs for days."""
        self.attempt.ready_after_s = at_s
        self._learn(curve, at_s)
        self._write()

    def answer(self, text: str) -> None:
        """Record the first answer of the server."""
        self.receipt.first_answer = text
        self._write()

    def end_attempt(
        self, at_s: float, *, server_exit: str | None, failure: Failure | None, curve: Sequence[CurvePoint]
    ) -> None:
        """Close the attempt; the guard's samples correct the peaks, and a thinned curve goes into the receipt."""
        attempt = self.attempt
        attempt.ended_after_s = at_s
        attempt.phases[-1].ended_s = at_s
        attempt.server_exit = server_exit
        attempt.failure = failure
        self._learn(curve, at_s)
        self._write()

    def _learn(self, curve: Sequence[CurvePoint], now_s: float) -> None:
        """Take over what the guard's finer samples show."""
        attempt = self.attempt
        for record in attempt.phases:
            last = record.ended_s if record.ended_s is not None else now_s
            lows = [p.available_bytes for p in curve if record.started_s <= p.t_s <= last]
            if lows:
                self._note_available(record, min(lows))
        attempt.lowest_available_bytes = min(
            (r.lowest_available_bytes for r in attempt.phases if r.lowest_available_bytes is not None),
            default=None,
        )
        attempt.curve = extended(attempt.curve, curve, CURVE_POINTS)

    def restarted(self) -> None:
        """Count one restart."""
        self.receipt.restarts += 1

    def finish(self, outcome: Outcome, reason: str, exit_code: int) -> None:
        """Close the receipt."""
        self.receipt.outcome = outcome
        self.receipt.outcome_reason = reason
        self.receipt.exit_code = exit_code
        self.receipt.ended_at = now_iso()
        self._write()

    @contextmanager
    def told(self) -> Iterator[None]:
        """An error that leaves the block closes the receipt on its way."""
        try:
            yield
        except MoetBootError as error:
            self.finish("failed", error.what, error.code)
            raise
        except Exception as bug:
            self.finish("failed", f"bug in moet-boot: {type(bug).__name__}: {bug}", Exit.BUG)
            raise

    def _note_available(self, record: PhaseRecord, available: int) -> None:
        lowest = record.lowest_available_bytes
        record.lowest_available_bytes = available if lowest is None else min(lowest, available)
        if self._before_host is not None:
            record.peak_host_bytes = max(self._before_host - record.lowest_available_bytes, 0)

    def _write(self, *, needed: bool = False) -> None:
        try:
            self._store.write(self.receipt)
        except MoetBootError as error:
            if needed:
                raise
            news, self.trouble = not self.trouble, error.what
            if news:
                self.complain(f"{error.what}; what happens from now on may be missing in it")
        else:
            self._kept, self.trouble = True, ""


def now_iso() -> str:
    """The time now, to the second, with its offset."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
