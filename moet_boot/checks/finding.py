"""What a check answers, and what it may look at."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.forecast import Forecast
from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import Snapshot
from moet_boot.profile.model import Profile


class Status(StrEnum):
    """The answer of one check."""

    PASS = "pass"  # noqa: S105  (a verdict, no password)
    WARN = "warn"
    REFUSE = "refuse"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """One line of a verdict: what was seen, what is needed, why, and what to do."""

    id: str
    status: Status
    title: str
    measured: str = ""
    required: str = ""
    why: str = ""
    fix: str = ""
    source: str = ""


@dataclass(frozen=True)
class Case:
    """All that a check may look at; nothing else of the machine exists for it.

    `rehearsed` is true in a dry run: facts about artefacts, docker and ports are not expected to be there.
    """

    profile: Profile
    plan: LaunchPlan
    snapshot: Snapshot
    forecast: Forecast
    rehearsed: bool = False


CheckFunction = Callable[[Case], Finding]


@dataclass(frozen=True)
class Check:
    """A check with its stable id. `blind` is the status when its facts are missing outside a dry run."""

    id: str
    title: str
    run: CheckFunction
    blind: Status = Status.WARN
    acceptable: bool = True
    """Whether `--accept-risk` may let its refusal through."""
