"""What the guard sees at one moment, and what it decides."""

from dataclasses import dataclass
from enum import StrEnum

from moet_boot.phases import Phase


class Action(StrEnum):
    """What the policy asks for. `STOP` is a TERM with a short grace, `KILL` has none."""

    NOTHING = "none"
    RELIEVE = "relieve"
    STOP = "stop"
    KILL = "kill"

    @property
    def ends_server(self) -> bool:
        """Whether the server is gone afterwards."""
        return self in {Action.STOP, Action.KILL}


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the machine: seconds of a monotonic clock, bytes, percent. None: not known at this moment.

    `residual`: memory that no field of /proc/meminfo accounts for; on unified memory mostly the GPU driver's
    (field notes: unified memory, section 1).
    """

    t_s: float
    available: int | None
    free: int | None = None
    swap_used: int | None = None
    psi_full_avg10: float | None = None
    residual: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What the supervisor knows: the phase (None when nobody said), and when the engine last showed progress."""

    phase: Phase | None = None
    progress_s: float | None = None

    @property
    def serving(self) -> bool:
        """Whether readiness was reached."""
        return self.phase is Phase.SERVING


@dataclass(frozen=True, slots=True)
class Decision:
    """An action with its reason in words and numbers; the reason is empty when nothing is to be done."""

    action: Action
    reason: str = ""


NOTHING = Decision(Action.NOTHING)
