"""Stand-ins for the outside world of the supervisor: a clock that jumps, a server that follows a script."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from moet_boot.guard.messages import GuardEvent
from moet_boot.launch.ending import ServerExit, StopReport
from moet_boot.launch.plan import LaunchPlan
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint, PlanRecord, Receipt, Versions
from moet_boot.receipts.store import ReceiptStore
from moet_boot.supervise.attempt import BootAttempt, Hands
from moet_boot.supervise.effects import Probe, Server
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.signals import SignalQueue
from moet_boot.supervise.timing import Timing
from moet_boot.units import GIB

PLAN = LaunchPlan(
    profile="demo",
    variant=None,
    runtime="process",
    argv=("vllm", "serve", "m"),
    env={},
    mounts=(),
    paths={},
    model="m",
    served_name="m",
    host="127.0.0.1",
    port=8123,
)


class FakeClock:
    """Time that passes only in `sleep`; `at` runs something when its moment comes."""

    def __init__(self) -> None:
        self.t = 100.0
        self._events: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += max(seconds, 0.001)
        due = [e for e in self._events if e[0] <= self.t]
        self._events = [e for e in self._events if e[0] > self.t]
        for _, event in due:
            event()
        if self.t > 100_000:
            raise AssertionError("the supervisor never came to an end")

    def at(self, seconds: float, event: Callable[[], None]) -> None:
        """Run `event` so many seconds after the start."""
        self._events.append((100.0 + seconds, event))


class FakeServer:
    """A server whose output and end are set by the test."""

    def __init__(self) -> None:
        self.started = 0
        self.stops: list[float] = []
        self.killed = self.closed = False
        self.end: ServerExit | None = None
        self.output: deque[bytes] = deque()
        self.log = b""
        self.start_error: Exception | None = None

    def print(self, text: str) -> None:
        self.output.append(text.encode() + b"\n")

    def start(self) -> None:
        if self.start_error:
            raise self.start_error
        self.started += 1

    @property
    def pid(self) -> int | None:
        return 4242 if self.started else None

    @property
    def cgroup(self) -> str | None:
        return None

    def exited(self) -> ServerExit | None:
        return self.end

    def new_output(self) -> bytes:
        chunk = b"".join(self.output)
        self.output.clear()
        self.log += chunk
        return chunk

    def log_tail(self) -> bytes:
        return self.log

    def stop(self, grace_s: float) -> StopReport:
        self.stops.append(grace_s)
        self.end = self.end or ServerExit(0)
        return StopReport(0.4, forced=grace_s == 0)

    def kill_now(self) -> None:
        self.killed = True

    def close(self) -> None:
        self.closed = True


class FakeGuard:
    """A guard that says what the test tells it to say."""

    def __init__(self) -> None:
        self.alive = True
        self.phases: list[Phase] = []
        self.progress = 0
        self.events: deque[GuardEvent] = deque()
        self.samples: list[CurvePoint] = []
        self.stopped = False
        self.watched: list[int | None] = []

    def watch(self, server: Server) -> None:
        self.watched.append(server.pid)

    def set_phase(self, phase: Phase) -> None:
        self.phases.append(phase)

    def note_progress(self) -> None:
        self.progress += 1

    def poll_events(self) -> Sequence[GuardEvent]:
        found = list(self.events)
        self.events.clear()
        return found

    def curve(self) -> Sequence[CurvePoint]:
        return self.samples

    def stop(self) -> None:
        self.stopped = True


@dataclass
class FakeProber:
    """Answers as the test set it."""

    token: Probe = field(default_factory=lambda: Probe(ok=False, step="health", fault="nothing listens yet"))
    life: Probe = field(default_factory=lambda: Probe(ok=True))
    chat: Probe = field(default_factory=lambda: Probe(ok=True, step="chat", answer="hello"))
    asked: list[str] = field(default_factory=list)

    def ready(self) -> Probe:
        self.asked.append("ready")
        return self.token

    def alive(self) -> Probe:
        self.asked.append("alive")
        return self.life

    def ask(self, question: str) -> Probe:
        self.asked.append(question)
        return self.chat


@dataclass
class FakeMemory:
    """Memory as the test set it; `script` gives successive values first."""

    available: int | None = 100 * GIB
    gpu: int | None = None
    script: deque[int] = field(default_factory=deque)

    def available_bytes(self) -> int | None:
        if self.script:
            self.available = self.script.popleft()
        return self.available

    def gpu_used_bytes(self) -> int | None:
        return self.gpu


class Notes(Listener):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.phases: list[Phase] = []
        self.answers: list[str] = []
        self.ready_at: float | None = None
        self.downs = 0
        self.doubts: list[str] = []
        self.ticks: list[int | None] = []

    def doubt(self, words: str) -> None:
        self.doubts.append(words)

    def down(self) -> None:
        self.downs += 1

    def tick(self, available_bytes: int | None) -> None:
        self.ticks.append(available_bytes)

    def phase(self, phase: Phase, at_s: float) -> None:
        self.phases.append(phase)

    def ready(self, at_s: float) -> None:
        self.ready_at = at_s

    def answer(self, question: str, text: str) -> None:
        self.answers.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


class AnsweredAtOnce:
    """A question whose answer is there at once."""

    def __init__(self, question: Callable[[], Probe]) -> None:
        self._answer = question()

    def answer(self) -> Probe | None:
        return self._answer


def receipt(receipt_id: str = "20260101-000000-demo") -> Receipt:
    """An open receipt."""
    return Receipt(
        id=receipt_id,
        created_at="2026-01-01T00:00:00+00:00",
        supervisor_pid=1,
        profile="demo",
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest=PLAN.digest, runtime="process"),
    )


@dataclass
class World:
    """Everything around one supervised server."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    server: FakeServer = field(default_factory=FakeServer)
    guard: FakeGuard = field(default_factory=FakeGuard)
    prober: FakeProber = field(default_factory=FakeProber)
    memory: FakeMemory = field(default_factory=FakeMemory)
    notes: Notes = field(default_factory=Notes)
    signals: SignalQueue = field(default_factory=SignalQueue)
    deadlines: dict[Phase, float] = field(default_factory=lambda: dict.fromkeys(Phase, 60.0))

    def __post_init__(self) -> None:
        self.store = ReceiptStore(self.folder / "receipts")
        receipt_id, _ = self.store.create_folder("demo")
        self.journal = Journal(receipt(receipt_id), self.store, self.memory)

    def attempt(self, *, stop_when_ready: bool = False, timing: Timing | None = None) -> BootAttempt:
        """An attempt in this world."""
        return BootAttempt(
            plan=PLAN,
            deadlines=self.deadlines,
            hands=Hands(
                server=self.server,
                start_guard=lambda: self.guard,
                prober=self.prober,
                clock=self.clock,
                journal=self.journal,
                listener=self.notes,
                signals=self.signals,
                ask=AnsweredAtOnce,
            ),
            timing=timing or Timing(),
            stop_when_ready=stop_when_ready,
        )

    def on_disk(self) -> Receipt:
        """The receipt as a later reader finds it."""
        return self.store.read("last")
