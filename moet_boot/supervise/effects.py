"""What the supervisor needs from the outside world, as protocols: tests pass fakes, `serve` the real ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from moet_boot.guard.messages import GuardEvent
from moet_boot.launch.ending import ServerExit, StopReport
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint


class Server(Protocol):
    """The running server, whatever its runtime."""

    def start(self) -> None:
        """Start it; raises MoetBootError when it cannot be started at all."""

    @property
    def pid(self) -> int | None:
        """The host pid of its main process, once known."""

    @property
    def cgroup(self) -> str | None:
        """A folder of the cgroup file system that holds the server and nobody else, where there is one."""

    def exited(self) -> ServerExit | None:
        """How it ended, or None while it runs."""

    def new_output(self) -> bytes:
        """What it printed since the last call, as it came: bounded, so that a flood cannot hold up the loop."""

    def log_tail(self) -> bytes:
        """The end of its log, for the search of a cause."""

    def stop(self, grace_s: float) -> StopReport:
        """TERM, grace, KILL of the whole tree, sweep; `left` in the answer is what could not be removed."""

    def kill_now(self) -> None:
        """KILL the whole tree at once, without any grace."""

    def close(self) -> None:
        """Archive its log and let go of every resource; safe to call twice."""


class Guard(Protocol):
    """The memory guard of one attempt."""

    @property
    def alive(self) -> bool:
        """Whether it still watches."""

    def watch(self, server: Server) -> None:
        """Guard this server, which has just been started."""

    def set_phase(self, phase: Phase) -> None:
        """Tell it which phase the boot is in; SERVING means readiness."""

    def note_progress(self) -> None:
        """Tell it that the engine showed a sign of progress."""

    def poll_events(self) -> Sequence[GuardEvent]:
        """What it did since the last call."""

    def curve(self) -> Sequence[CurvePoint]:
        """All samples of this attempt, oldest first."""

    def stop(self) -> None:
        """End it without touching the server; safe to call twice."""


@dataclass(frozen=True)
class Probe:
    """What a probe found. `fault` is None when the step worked; `foreign`: somebody else answers there."""

    ok: bool
    step: str = ""
    fault: str = ""
    answer: str = ""
    foreign: bool = False


class Prober(Protocol):
    """Asks the server questions. Every call returns within its deadline and never raises."""

    def ready(self) -> Probe:
        """Health, the model's name, one generated token."""

    def alive(self) -> Probe:
        """Health and one generated token, with the patience that a busy server deserves."""

    def ask(self, question: str) -> Probe:
        """One short chat answer, for people to see."""


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds of a monotonic clock."""

    def sleep(self, seconds: float) -> None:
        """Wait; ends early when a signal arrives."""


class Memory(Protocol):
    """The machine's memory now."""

    def available_bytes(self) -> int | None:
        """MemAvailable in bytes, or None where it cannot be read."""

    def gpu_used_bytes(self) -> int | None:
        """VRAM used on the planned GPU in bytes, or None where NVML does not answer."""
