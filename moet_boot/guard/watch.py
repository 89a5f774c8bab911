"""The guard's loop, one step at a time: look, decide, act, record. Eyes, hands and pens are passed in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from moet_boot.guard.floors import Floors
from moet_boot.guard.kill import Strike
from moet_boot.guard.messages import GuardEvent
from moet_boot.guard.policy import State, decide
from moet_boot.guard.relief import Relieved
from moet_boot.guard.sample import Action, Context, Decision, Sample
from moet_boot.guard.sampler import FASTEST_S, next_look_s
from moet_boot.guard.witnesses import Witness
from moet_boot.phases import Phase
from moet_boot.units import MIB, format_bytes

MEMBERS_S = 1.0
"""Between two looks for new processes of the server. In a cgroup or on a leash nobody is lost in between; else only
a process whose parents died within the second."""
SLOWEST_STRIKE_S = 0.05
STUCK_S = 5.0
RECORD_BOOT_S = 0.05
RECORD_SERVING_S = 1.0
RECORD_CHANGE = 32 * MIB
REPEAT_S = 10.0
"""Between two notes of what goes on and on: relief every second, decisions that are not carried out."""


class Eyes(Protocol):
    """Looks at the memory."""

    def read(self) -> Sample:
        """One sample."""


class Hands(Protocol):
    """Ends the server."""

    def strike(self) -> Strike:
        """One round of killing."""

    def terminate(self) -> int:
        """Ask the server to end."""

    def watch(self) -> None:
        """Keep track of the server's processes."""

    @property
    def ended(self) -> bool:
        """Whether the server is gone."""


class Cleaner(Protocol):
    """Frees page cache."""

    def start(self) -> bool:
        """Begin to."""

    def finished(self) -> Relieved | None:
        """What was done since the last call."""


class Record(Protocol):
    """Keeps samples."""

    def append(self, sample: Sample, phase: Phase | None = None, action: Action = Action.NOTHING) -> None:
        """Keep one."""


@dataclass
class Watch:
    """Guards one server. Call `step` again and again, each time after the seconds that it answered.

    Without a target it looks and records, and does nothing else. `observe_only`: decisions are noted, not carried
    out.
    """

    floors: Floors
    eyes: Eyes
    cleaner: Cleaner
    record: Record
    note: Callable[[GuardEvent], None]
    observe_only: bool = False
    target: Hands | None = None
    phase: Phase | None = None
    progress_s: float | None = None
    killing_since: float | None = None
    witnesses: tuple[Witness, ...] = ()
    _state: State = field(default_factory=State)
    _recorded: Sample | None = None
    _members_s: float = -MEMBERS_S
    _complained_s: float = 0.0
    _noted: dict[str, float] = field(default_factory=dict)
    _reliefs: int = 0
    _lowest: int | None = None

    def step(self) -> float:
        """Look once and do what is needed; seconds until the next look."""
        sample = self.eyes.read()
        decision, self._state = decide(self._state, sample, Context(self.phase, self.progress_s), self.floors)
        if self.target is None:
            decision = Decision(Action.NOTHING)
        elif self.killing_since is not None:
            self._strike_again(self.target, sample, self.killing_since)
        elif decision.action is not Action.NOTHING:
            self._act(self.target, sample, decision)
        self._keep(sample, decision.action)
        wait = self._pause_s(sample) if self.killing_since is None else self._strike_pause_s(sample)
        self._look_around(sample)
        return wait

    def aim(self, target: Hands | None) -> None:
        """Guard another server from now on: what was seen of an earlier one does not count against it."""
        self.target, self.killing_since, self._state = target, None, State()
        self._members_s = -MEMBERS_S

    def kill(self, at_s: float, reason: str, action: str = "kill") -> None:
        """End the server for a reason of the caller's, unless that has begun already."""
        if self.target is None or self.killing_since is not None:
            return
        self.killing_since = self._complained_s = at_s
        self._lowest = None
        self.target.strike()
        self.note(GuardEvent(at_s, action, reason))

    def _act(self, target: Hands, sample: Sample, decision: Decision) -> None:
        if self.observe_only:
            self._note_once(sample, f"would {decision.action.value}", decision.reason)
        elif decision.action is Action.KILL:
            self.kill(sample.t_s, decision.reason)
        elif decision.action is Action.STOP:
            asked = target.terminate()
            self.note(GuardEvent(sample.t_s, "stop", f"{decision.reason}; {asked} process(es) asked to end"))
        elif self.cleaner.start():
            self._reliefs += 1
            self._note_once(sample, "relieve", f"{decision.reason}; relief number {self._reliefs}")
        else:
            self._note_once(sample, "would relieve", f"{decision.reason}; not possible, or the last one is not done")

    def _strike_again(self, target: Hands, sample: Sample, began: float) -> None:
        if sample.available is not None and (self._lowest is None or sample.available < self._lowest):
            self._lowest = sample.available
        left = target.strike().left
        if not left:
            text = f"the server was gone after {sample.t_s - began:.3f} s{self._left_behind(sample)}"
            self.note(GuardEvent(sample.t_s, "killed", text))
            self.aim(None)
        elif sample.t_s - self._complained_s >= STUCK_S:
            self._complained_s = sample.t_s
            text = f"pids {list(left)} still run {sample.t_s - began:.1f} s after SIGKILL (in a driver call?)"
            self.note(GuardEvent(sample.t_s, "stuck", text))

    def _left_behind(self, sample: Sample) -> str:
        """How low memory got, and what of it is still in no field's name (policy 6: both tell of a wedged driver)."""
        lowest = "" if self._lowest is None else f"; MemAvailable was {format_bytes(self._lowest)} at the lowest"
        if sample.residual is None or sample.residual <= 0:
            return lowest
        return f"{lowest}; {format_bytes(sample.residual)} are in nobody's name (a driver's, on unified memory)"

    def _note_once(self, sample: Sample, action: str, reason: str, *, of: str = "") -> None:
        at_s = self._noted.get(action + of)
        if at_s is None or sample.t_s - at_s >= REPEAT_S:
            self._noted[action + of] = sample.t_s
            self.note(GuardEvent(sample.t_s, action, reason))

    def _keep(self, sample: Sample, action: Action) -> None:
        last = self._recorded
        due_s = RECORD_SERVING_S if self.phase is Phase.SERVING else RECORD_BOOT_S
        if last is not None and action is Action.NOTHING and sample.t_s - last.t_s < due_s:
            changed = abs((sample.available or 0) - (last.available or 0))
            if changed < RECORD_CHANGE:
                return
        self._recorded = sample
        self.record.append(sample, self.phase, action)

    def _pause_s(self, sample: Sample) -> float:
        if sample.available is None or self.target is None:
            return next_look_s(None)
        serving = self.phase is Phase.SERVING
        floor = self.floors.serving_hard_floor if serving else self.floors.boot_floor(self.phase)
        return next_look_s(sample.available - floor)

    def _strike_pause_s(self, sample: Sample) -> float:
        """Ever longer while the server dies: it needs the processor more than it needs another signal."""
        lasted = 0.0 if self.killing_since is None else sample.t_s - self.killing_since
        return min(SLOWEST_STRIKE_S, max(FASTEST_S, lasted / 2))

    def _look_around(self, sample: Sample) -> None:
        """What can wait: new processes of the server, its end, the result of a relief."""
        done = self.cleaner.finished()
        if done is not None:
            refused = f"; refused: {done.refused}" if done.refused else ""
            self._note_once(sample, "relieved", f"cache dropped in {done.seconds:.2f} s{refused}")
        if self.target is None or self.killing_since is not None:
            return
        if self._state.stopped_s is not None and self.target.ended:
            self.note(GuardEvent(sample.t_s, "stopped", "the server ended when it was asked to"))
            self.aim(None)
        elif sample.t_s - self._members_s >= MEMBERS_S:
            self._members_s = sample.t_s
            self.target.watch()
            self._ask_around(sample)

    def _ask_around(self, sample: Sample) -> None:
        """Write down what the kernel says: it explains a failure, and decides nothing."""
        for witness in self.witnesses:
            words = witness.heard()
            if words:
                self._note_once(sample, "notice", words, of=witness.name)
