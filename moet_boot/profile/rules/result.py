"""What a rule answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from moet_boot.profile.rules.facts import Facts

Level = Literal["pass", "warn", "refuse"]


@dataclass(frozen=True)
class Outcome:
    """What was seen, what is required, and, unless it passes, what follows and what to do."""

    status: Level
    measured: str
    required: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Rule:
    """One rule between settings. `judge` answers None where the rule says nothing about a profile."""

    id: str
    title: str
    source: str
    judge: Callable[[Facts], Outcome | None]


@dataclass(frozen=True)
class RuleResult:
    """A rule's outcome for one profile, ready to be shown."""

    id: str
    title: str
    status: Level
    measured: str
    required: str
    why: str
    fix: str
    source: str
