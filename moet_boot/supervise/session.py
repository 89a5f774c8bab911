"""A supervised server from its first start to its last end: attempts, restarts, the receipt, the exit code."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from moet_boot.engine.failure import Failure, restartable
from moet_boot.exits import Exit
from moet_boot.profile.model import Restart
from moet_boot.receipts.model import Outcome
from moet_boot.supervise.attempt_end import AttemptEnd, Cause
from moet_boot.supervise.breaker import Breaker, PastFailure
from moet_boot.supervise.effects import Clock, Memory
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.restart import Again, GiveUp, decide
from moet_boot.supervise.settle import wait_for_memory
from moet_boot.supervise.signals import SIGNAL_EXITS, SignalQueue


@dataclass(frozen=True)
class Ending:
    """How a session ended."""

    outcome: Outcome
    exit_code: Exit
    reason: str


@dataclass
class Session:
    """Runs attempts until one ends for good.

    `attempt` runs one; `preflight` judges the machine again before a restart and returns the reason of a
    refusal or None; `needed_bytes` of available memory must be back before it is even asked.
    """

    attempt: Callable[[], AttemptEnd]
    preflight: Callable[[], str | None]
    policy: Restart
    breaker: Breaker
    journal: Journal
    memory: Memory
    clock: Clock
    listener: Listener
    signals: SignalQueue
    needed_bytes: int
    settle_s: float
    wall: Callable[[], float] = time.time

    def run(self) -> Ending:
        """Run to the end, close the receipt and return the ending."""
        ending = self._run()
        self.journal.finish(ending.outcome, ending.reason, ending.exit_code)
        return ending

    def _run(self) -> Ending:
        while True:
            end = self.attempt()
            if end.failure is None:
                if end.was_ready:
                    self.breaker.forget()
                return _wanted(end)
            stay_down = self._after_failure(end, end.failure)
            if stay_down is not None:
                return stay_down
            self.journal.restarted()

    def _after_failure(self, end: AttemptEnd, failure: Failure) -> Ending | None:
        past = self.breaker.remember(
            PastFailure(self.wall(), failure.kind.value, failure.sentence), window_s=self.policy.window_s
        )
        choice = decide(
            restartable=restartable(failure.kind, was_ready=end.was_ready) and end.cause is not Cause.GUARD_LOST,
            kind=failure.kind.value,
            was_ready=end.was_ready,
            failures_at=[f.at for f in past],
            now=self.wall(),
            policy=self.policy,
        )
        if isinstance(choice, GiveUp):
            return _failed(end, failure, choice.reason)
        return self._pause(end, failure, choice)

    def _pause(self, end: AttemptEnd, failure: Failure, again: Again) -> Ending | None:
        self.listener.note(f"{failure.sentence}; restart {again.attempt} in {again.after_s:.0f} s")
        until = self.clock.now() + again.after_s
        while self.clock.now() < until:
            interrupted = self._interrupted()
            if interrupted:
                return interrupted
            self.listener.tick(self.memory.available_bytes())
            self.clock.sleep(min(0.5, max(until - self.clock.now(), 0.01)))
        settled = wait_for_memory(
            self.memory,
            self.clock,
            needed_bytes=self.needed_bytes,
            timeout_s=self.settle_s,
            cancelled=lambda: self.signals.waiting,
            looked=self.listener.tick,
        )
        interrupted = self._interrupted()
        if interrupted:
            return interrupted
        self.listener.note(f"memory before the restart: {settled.words}")
        if not settled.enough:
            return _failed(end, failure, f"memory did not come back: {settled.words}")
        refused = self.preflight()
        if refused:
            return _failed(end, failure, f"the preflight refuses a restart: {refused}")
        return self._interrupted()

    def _interrupted(self) -> Ending | None:
        number = self.signals.take()
        if number is None:
            return None
        return Ending(
            "interrupted", SIGNAL_EXITS.get(number, Exit.TERMINATED), "stopped by a signal between two attempts"
        )


def _wanted(end: AttemptEnd) -> Ending:
    if end.cause is Cause.ASKED:
        return Ending("stopped", Exit.DONE, "ready, answered and stopped as asked")
    state = "after it was ready" if end.was_ready else "before it was ready"
    outcome: Outcome = "stopped" if end.was_ready else "interrupted"
    if end.server_exit and end.server_exit.outside:
        return Ending(outcome, Exit.TERMINATED, f"{end.server_exit.outside.value} {state}")
    return Ending(outcome, SIGNAL_EXITS.get(end.signal or 0, Exit.TERMINATED), f"stopped by a signal {state}")


def _failed(end: AttemptEnd, failure: Failure, why_no_restart: str) -> Ending:
    reason = f"{failure.sentence} (not restarted: {why_no_restart})"
    if end.cause is Cause.GUARD:
        return Ending("guard", Exit.GUARD_STOPPED, reason)
    if end.was_ready:
        return Ending("died", Exit.SERVER_DIED, reason)
    return Ending("failed", Exit.NOT_READY, reason)
