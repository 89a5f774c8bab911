"""How often the supervisor looks, and how long it waits. Seconds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The supervisor's own times; deadlines of phases come from the profile."""

    tick_s: float = 0.1
    """Between two rounds of the loop: bounds how late a dead guard is noticed."""
    look_s: float = 0.5
    """Between two looks at the memory for the receipt (the guard has its own, faster eye)."""
    probe_s: float = 1.0
    """Between two questions to a server that is not ready yet."""
    silent_probe_s: float = 3.0
    """The same while its log has not said that it listens."""
    life_s: float = 15.0
    """Between two questions to a server that is ready."""
    life_misses: int = 3
    """How many unanswered questions make a hang."""
    grace_s: float = 20.0
    """Between the first TERM and KILL: the engine needs up to 8 s after a second TERM during its boot."""
    guard_grace_s: float = 5.0
    """The same when the guard asked the server to end, which it does while there is still some memory."""
    settle_s: float = 300.0
    """How long memory may take to come back before a restart."""
