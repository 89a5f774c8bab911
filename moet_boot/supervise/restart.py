"""Whether a server that ended is started again, and when: by class of failure, budget and backoff. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from moet_boot.profile.model import Restart


@dataclass(frozen=True)
class Again:
    """Start it again after so many seconds."""

    after_s: float
    attempt: int


@dataclass(frozen=True)
class GiveUp:
    """Do not start it again, and why."""

    reason: str


def decide(
    *,
    restartable: bool,
    kind: str,
    was_ready: bool,
    failures_at: Sequence[float],
    now: float,
    policy: Restart,
) -> Again | GiveUp:
    """What to do after a failure.

    `restartable` is the verdict on the class of the failure; `failures_at` are the times (seconds, same clock
    as `now`) of all failures that the breaker remembers, this one included.
    """
    if not restartable:
        state = "after it was ready" if was_ready else "before it was ready"
        return GiveUp(f"a failure of class {kind} {state} does not pass by itself")
    recent = [at for at in failures_at if now - at <= policy.window_s]
    if len(recent) > policy.budget:
        return GiveUp(
            f"{len(recent)} failures in {policy.window_s / 60:.0f} min; the budget is {policy.budget} restarts"
        )
    backoff = min(policy.backoff_s * 2 ** max(len(recent) - 1, 0), policy.backoff_max_s)
    return Again(after_s=backoff, attempt=len(recent))
