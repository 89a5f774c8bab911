"""What a check answers, and what it may look at."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.exits import Exit
from moet_boot.forecast import Forecast
from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import Snapshot
from moet_boot.profile.model import Profile


class Status(StrEnum):
    """The answer of one check."""

    PASS = "pass"  # noqa: S105  (an answer, no password)
    WARN = "warn"
    REFUSE = "refuse"
    SKIPPED = "skipped"


class Sight(StrEnum):
    """Where the facts come from, which decides what a missing one means (design 1.2).

    LIVE: this machine, now; a reader that failed left a hole that a freeze could hide in.
    REPLAYED: a recorded document; what it leaves out is skipped with that reason.
    REHEARSED: a dry run; artefacts, docker and ports are not expected to be there.
    """

    LIVE = "live"
    REPLAYED = "replayed"
    REHEARSED = "rehearsed"


@dataclass(frozen=True)
class Answer:
    """What one check says about one case; the check adds its id and title."""

    status: Status
    measured: str = ""
    required: str = ""
    why: str = ""
    fix: str = ""
    source: str = ""
    code: Exit = Exit.REFUSED
    """The exit code of a refusal that stands alone: 5 for a damaged artefact, 6 for a missing one."""
    acceptable: bool = True
    """Whether `--accept-risk` may let this refusal through."""
    blind: bool = False
    """Skipped, and what was not looked at could hide a freeze."""
    hole: str = ""
    """Skipped because a recorded machine does not say this."""


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
    code: Exit = Exit.REFUSED
    acceptable: bool = True
    blind: bool = False
    """Skipped, and what was not looked at could hide a freeze: the verdict cannot be better than refuse."""
    hole: str = ""
    """Skipped because a recorded machine does not say this; a person must see that nobody looked."""

    @property
    def stops(self) -> bool:
        """Whether this finding alone keeps the boot from starting."""
        return self.status is Status.REFUSE or self.blind


@dataclass(frozen=True)
class Case:
    """All that a check may look at; nothing else of the machine exists for it."""

    profile: Profile
    plan: LaunchPlan
    snapshot: Snapshot
    forecast: Forecast
    sight: Sight = Sight.LIVE

    @property
    def rehearsed(self) -> bool:
        """Whether this is a dry run."""
        return self.sight is Sight.REHEARSED


@dataclass(frozen=True)
class Scope:
    """For which cases a check has a meaning; `otherwise` is the reason of the skip."""

    test: Callable[[Case], bool]
    otherwise: str


AnswerFunction = Callable[[Case], Answer]


@dataclass(frozen=True)
class Check:
    """A check with its stable id.

    `needs` names the groups of the snapshot without which it cannot be made; `blind` is the answer then, on a
    live machine: REFUSE where the hole could hide a freeze, else WARN.
    """

    id: str
    title: str
    answer: AnswerFunction
    needs: tuple[str, ...] = ()
    blind: Status = Status.WARN
    scope: Scope | None = None

    def judge(self, case: Case) -> Finding:
        """The finding of this check; never raises for facts that are missing."""
        if self.scope and not self.scope.test(case):
            return self._finding(skip(self.scope.otherwise))
        hole = next((group for group in self.needs if getattr(case.snapshot, group) is None), None)
        return self._finding(self.answer(case) if hole is None else unseen(case, hole, self.blind))

    def _finding(self, answer: Answer) -> Finding:
        return Finding(
            self.id,
            answer.status,
            self.title,
            printable(answer.measured),
            printable(answer.required),
            printable(answer.why),
            printable(answer.fix),
            printable(answer.source),
            answer.code,
            answer.acceptable,
            answer.blind,
            printable(answer.hole),
        )


def printable(text: str) -> str:
    """The text with control characters escaped: names in it come from processes and from other people's snapshots."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def check(
    id_: str,
    title: str,
    *,
    needs: tuple[str, ...] = (),
    blind: Status = Status.WARN,
    scope: Scope | None = None,
) -> Callable[[AnswerFunction], Check]:
    """Make a check of a function over a case."""
    return lambda answer: Check(id_, title, answer, needs, blind, scope)


def unseen(case: Case, fact: str, blind: Status = Status.WARN, *, reader: str = "") -> Answer:
    """The answer when a fact is not there: what that means depends on where the facts come from.

    `fact` names it in words, `reader` is who should have read it (by default the group of that name).
    """
    reason = case.snapshot.errors.get(reader or fact, "")
    hides = blind is Status.REFUSE
    if case.sight is Sight.REHEARSED:
        return skip(f"dry run without {fact}")
    if case.sight is Sight.REPLAYED:
        said = f"the snapshot has no {fact}" + (f" ({reason})" if reason else "")
        why = "what was not looked at could hide a freeze" if hides else ""
        return Answer(Status.SKIPPED, said, f"{fact} in the snapshot" if hides else "", why, blind=hides, hole=fact)
    return Answer(
        blind,
        measured=f"{fact} could not be read: {reason or 'no reason was given'}",
        required=f"{fact} of this machine",
        why="a check that cannot be made proves nothing" + (", and this one could hide a freeze" if hides else ""),
        fix=f"make {fact} readable for this user and run the preflight again",
    )


def passed(measured: str, required: str = "") -> Answer:
    """Everything is as it must be."""
    return Answer(Status.PASS, measured, required)


def skip(reason: str) -> Answer:
    """The check has no meaning here, or its facts are not there; `reason` says which."""
    return Answer(Status.SKIPPED, reason)


def warn(measured: str, required: str, *, why: str, fix: str, source: str = "") -> Answer:
    """It will probably work; somebody should know."""
    return Answer(Status.WARN, measured, required, why, fix, source)


def refuse(
    measured: str,
    required: str,
    *,
    why: str,
    fix: str,
    source: str = "",
    code: Exit = Exit.REFUSED,
    acceptable: bool = True,
) -> Answer:
    """The boot must not start as it is."""
    return Answer(Status.REFUSE, measured, required, why, fix, source, code, acceptable)
