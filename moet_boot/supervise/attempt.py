"""One start of the server, from its first line to its end: phases, guard, readiness, deadlines, signals."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from moet_boot.engine.failure import Ending, Failure, diagnose
from moet_boot.engine.failure_table import FailureClass
from moet_boot.engine.phases import PhaseTracker
from moet_boot.launch.ending import Outside
from moet_boot.launch.plan import LaunchPlan
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint
from moet_boot.receipts.model import Failure as FailureRecord
from moet_boot.supervise.asking import Asked, Pending
from moet_boot.supervise.attempt_end import AttemptEnd, Cause
from moet_boot.supervise.effects import Clock, Guard, Probe, Prober, Server
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.signals import SignalQueue
from moet_boot.supervise.timing import Timing

QUIET = {"started", "target"}
"""What a guard says in every boot: for the receipt, not for a person."""
QUESTION = "Say hello in one short sentence."


@dataclass
class Hands:
    """The effects of one attempt."""

    server: Server
    start_guard: Callable[[], Guard]
    prober: Prober
    clock: Clock
    journal: Journal
    listener: Listener
    signals: SignalQueue
    ask: Callable[[Callable[[], Probe]], Pending] = Asked


@dataclass
class BootAttempt:
    """Runs one attempt to its end. `stop_when_ready`: ask one question once ready, then stop."""

    plan: LaunchPlan
    deadlines: Mapping[Phase, float]
    hands: Hands
    timing: Timing = field(default_factory=Timing)
    stop_when_ready: bool = False

    def __post_init__(self) -> None:
        self._tracker = PhaseTracker()
        self._guard: Guard | None = None
        self._started = 0.0
        self._phase_since = 0.0
        self._next_probe = 0.0
        self._next_look = 0.0
        self._ready = False
        self._misses = 0
        self._last_fault = ""
        self._asked: Pending | None = None

    def run(self) -> AttemptEnd:
        """Start the server and watch it until it ends, is stopped or must be stopped."""
        hands = self.hands
        self._started = self._phase_since = hands.clock.now()
        hands.journal.begin_attempt()
        try:
            # the guard first: there is no moment in which the server runs unwatched
            guard = self._guard = hands.start_guard()
            end, curve = self._guarded_run(guard)
        finally:
            hands.server.close()
        hands.journal.end_attempt(
            self._elapsed(),
            server_exit=end.server_exit.words if end.server_exit else None,
            failure=_recorded(end.failure) if end.failure else None,
            curve=curve,
        )
        return end

    def _guarded_run(self, guard: Guard) -> tuple[AttemptEnd, Sequence[CurvePoint]]:
        server = self.hands.server
        try:
            server.start()
            guard.watch(server)
            self.hands.listener.begin(server.pid)
            return self._watch(), guard.curve()
        except BaseException:
            # nothing may survive an error of ours: an unwatched server is what moet-boot exists to prevent
            server.kill_now()
            raise
        finally:
            guard.stop()

    def _watch(self) -> AttemptEnd:
        while True:
            end = (
                self._signalled()
                or self._guarded()
                or self._read_log()
                or self._exited()
                or self._late()
                or self._probe()
            )
            if end:
                return end
            self._look()
            self.hands.clock.sleep(self.timing.tick_s)

    def _elapsed(self) -> float:
        return self.hands.clock.now() - self._started

    def _signalled(self) -> AttemptEnd | None:
        number = self.hands.signals.take()
        if number is None:
            return None
        self.hands.listener.note(f"{signal.Signals(number).name} received: stopping the server")
        return self._stop(Cause.SIGNAL, signal_number=number)

    def _guarded(self) -> AttemptEnd | None:
        if self._guard is None:
            return None
        killed = None
        for event in self._guard.poll_events():
            self.hands.journal.guard_event(event)
            if event.action not in QUIET:
                # what the kernel says is no action of the guard's
                by = "" if event.action == "notice" else f"memory guard: {event.action}: "
                self.hands.listener.note(f"{by}{event.reason}")
            if event.action in {"kill", "stop"}:
                killed = event
        if killed is not None:
            failure = self._failure(Ending(stopped_by_guard=True))
            grace_s = 0 if killed.action == "kill" else self.timing.guard_grace_s
            return self._stop(Cause.GUARD, failure=failure, grace_s=grace_s)
        if not self._guard.alive:
            failure = Failure(
                FailureClass.UNKNOWN,
                "the memory guard ended or fell silent, and the server must not run unguarded",
                "somebody killed or stopped it, or it is a bug: report it with the receipt",
            )
            return self._stop(Cause.GUARD_LOST, failure=failure, grace_s=0)
        return None

    def _read_log(self) -> AttemptEnd | None:
        output = self.hands.server.new_output()
        if output:
            if self._guard:
                self._guard.note_progress()
            listened = self._tracker.listening
            for phase in self._tracker.feed(output):
                self._enter(phase)
            if self._tracker.listening and not listened:
                self._next_probe = self.hands.clock.now()
        return None

    def _enter(self, phase: Phase) -> None:
        at_s = self._elapsed()
        self._phase_since = self.hands.clock.now()
        self.hands.journal.enter_phase(phase, at_s)
        self.hands.listener.phase(phase, at_s)
        if self._guard:
            self._guard.set_phase(phase)

    def _exited(self) -> AttemptEnd | None:
        ended = self.hands.server.exited()
        if ended is None:
            return None
        # what the guard did and what was printed last may arrive just after the exit
        guarded = self._guarded()
        if guarded is not None:
            return guarded
        self._read_log()
        summary = self.hands.server.stop(0)
        self.hands.listener.down()
        if ended.outside in {Outside.PERSON, Outside.REMOVED}:
            self.hands.listener.note(ended.outside.value)
            return AttemptEnd(Cause.OUTSIDE, self._ready, server_exit=ended, stop=summary)
        failure = self._failure(Ending(exit_code=ended.code, signal=ended.signal, oom_killed=ended.oom_killed))
        if ended.outside is Outside.ENGINE:
            failure = Failure(FailureClass.UNKNOWN, ended.outside.value, "it starts again where the profile allows it")
        return AttemptEnd(Cause.EXITED, self._ready, failure, server_exit=ended, stop=summary)

    def _late(self) -> AttemptEnd | None:
        if self._ready:
            return None
        phase = self._tracker.phase
        limit = self.deadlines.get(phase)
        waited = self.hands.clock.now() - self._phase_since
        if limit is None or waited <= limit:
            return None
        failure = self._failure(Ending(hung_in=phase))
        return self._stop(Cause.HANG, failure=failure)

    def _probe(self) -> AttemptEnd | None:
        if self._asked is None:
            self._ask_when_due()
            return None
        answer = self._asked.answer()
        if answer is None:
            return None
        self._asked = None
        if not self._ready:
            return self._first_token(answer)
        if self.stop_when_ready:
            return self._asked_once(answer)
        return self._sign_of_life(answer)

    def _ask_when_due(self) -> None:
        now = self.hands.clock.now()
        prober = self.hands.prober
        if self._ready and self.stop_when_ready:
            self._asked = self.hands.ask(lambda: prober.ask(QUESTION))
        elif now >= self._next_probe:
            self._next_probe = now + self._probe_interval()
            self._asked = self.hands.ask(prober.alive if self._ready else prober.ready)

    def _probe_interval(self) -> float:
        if self._ready:
            return self.timing.life_s
        # an image whose log says nothing must be found ready too, only not as soon
        return self.timing.probe_s if self._tracker.listening else self.timing.silent_probe_s

    def _first_token(self, probe: Probe) -> AttemptEnd | None:
        if not probe.ok:
            self._last_fault = f"{probe.step}: {probe.fault}"
            return None
        at_s = self._elapsed()
        self._ready = True
        self._tracker.serving()
        self._enter(Phase.SERVING)
        self.hands.journal.ready(at_s, self._guard.curve() if self._guard else ())
        self.hands.listener.ready(at_s)
        self._next_probe = self.hands.clock.now() + self.timing.life_s
        return None

    def _asked_once(self, probe: Probe) -> AttemptEnd | None:
        if not probe.ok:
            return self._hung(probe)
        self.hands.journal.answer(probe.answer)
        self.hands.listener.answer(QUESTION, probe.answer)
        return self._stop(Cause.ASKED)

    def _sign_of_life(self, probe: Probe) -> AttemptEnd | None:
        if probe.ok:
            if self._misses:
                self.hands.listener.doubt("")
            self._misses = 0
            return None
        self._misses += 1
        count = f"{self._misses} of {self.timing.life_misses}"
        words = f"the server did not answer ({probe.step}: {probe.fault}), {count}"
        self.hands.listener.note(words)
        self.hands.listener.doubt(words)
        if self._misses < self.timing.life_misses:
            self._next_probe = self.hands.clock.now() + self.timing.probe_s
            return None
        return self._hung(probe)

    def _hung(self, probe: Probe) -> AttemptEnd:
        self._last_fault = f"{probe.step}: {probe.fault}"
        return self._stop(Cause.HANG, failure=self._failure(Ending(hung_in=Phase.SERVING)))

    def _look(self) -> None:
        now = self.hands.clock.now()
        if now >= self._next_look:
            self._next_look = now + self.timing.look_s
            self.hands.listener.tick(self.hands.journal.measure())

    def _failure(self, ending: Ending) -> Failure:
        log = self.hands.server.log_tail().decode("utf-8", "replace")
        failure = diagnose(replace(ending, log=log, was_ready=self._ready))
        if ending.hung_in is not None and self._last_fault:
            return replace(failure, cause=f"{failure.cause} (last probe: {self._last_fault})")
        return failure

    def _stop(
        self,
        cause: Cause,
        *,
        failure: Failure | None = None,
        signal_number: int | None = None,
        grace_s: float | None = None,
    ) -> AttemptEnd:
        grace = self.timing.grace_s if grace_s is None else grace_s
        if grace:
            self.hands.listener.down()
        summary = self.hands.server.stop(grace)
        if not grace:  # a kill waits for nobody who may write to a disk
            self.hands.listener.down()
        return AttemptEnd(
            cause, self._ready, failure, signal_number, server_exit=self.hands.server.exited(), stop=summary
        )


def _recorded(failure: Failure) -> FailureRecord:
    return FailureRecord(kind=failure.kind.value, sentence=failure.sentence, evidence=failure.evidence or "")
