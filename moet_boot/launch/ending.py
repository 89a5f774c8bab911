"""How a server ended and what its stop did, whatever the runtime."""

from dataclasses import dataclass
from enum import Enum


class Outside(Enum):
    """Who ended a server's container, if neither the server nor moet-boot did."""

    PERSON = "somebody stopped its container through the engine"
    REMOVED = "somebody removed its container"
    ENGINE = "the container engine was restarted and ended its containers"


@dataclass(frozen=True)
class ServerExit:
    """How the server's first process ended: an exit code or a signal; `oom_killed`: the kernel killed for memory.

    `outside`: what else ended it, where the runtime knows: neither the server itself nor moet-boot.
    """

    code: int | None
    signal: int | None = None
    oom_killed: bool = False
    outside: Outside | None = None

    @property
    def words(self) -> str:
        """For receipts and people: `exit code 1`, `signal 9`."""
        return f"signal {self.signal}" if self.signal is not None else f"exit code {self.code}"


@dataclass(frozen=True)
class StopReport:
    """What a stop did.

    `seconds` until everything was gone; `terms`: how often TERM was sent; `forced`: KILL was needed;
    `removed`: files of ours that were cleaned away; `left`: what could not be removed.
    """

    seconds: float
    forced: bool = False
    left: tuple[str, ...] = ()
    terms: int = 0
    removed: tuple[str, ...] = ()
