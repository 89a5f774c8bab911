"""How one attempt ended, and why."""

from dataclasses import dataclass
from enum import StrEnum

from moet_boot.engine.failure import Failure
from moet_boot.launch.ending import ServerExit, StopReport


class Cause(StrEnum):
    """Why an attempt ended."""

    SIGNAL = "signal"
    ASKED = "asked"
    GUARD = "guard"
    EXITED = "exited"
    OUTSIDE = "outside"
    HANG = "hang"
    GUARD_LOST = "guard_lost"


@dataclass(frozen=True)
class AttemptEnd:
    """How one attempt ended. `failure` is None for a wanted end."""

    cause: Cause
    was_ready: bool
    failure: Failure | None = None
    signal: int | None = None
    server_exit: ServerExit | None = None
    stop: StopReport | None = None
