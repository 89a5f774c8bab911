"""How a server ended and what its stop did, whatever the runtime."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerExit:
    """How the server's first process ended: an exit code or a signal; `oom_killed`: the kernel killed for memory.

    `outside`: who else ended it, where the runtime knows that somebody did: neither the server nor moet-boot.
    """

    code: int | None
    signal: int | None = None
    oom_killed: bool = False
    outside: str = ""

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
