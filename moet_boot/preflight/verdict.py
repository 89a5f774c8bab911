"""The verdict: findings weighed, risks accepted by name, one exit code. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.checks.catalogue import CHECKS, known_ids, run_checks
from moet_boot.checks.finding import Case, Check, Finding, Status
from moet_boot.errors import UsageError
from moet_boot.exits import Exit
from moet_boot.profile.nearest import did_you_mean

ARTEFACT_CODES = {Exit.ARTEFACT_DAMAGED, Exit.ARTEFACT_MISSING}


class Level(StrEnum):
    """A verdict in one word."""

    SAFE = "safe"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Verdict:
    """What a preflight says. `accepted`: the ids that somebody took the risk of, whether or not they refused."""

    level: Level
    findings: tuple[Finding, ...]
    accepted: tuple[str, ...] = ()

    @property
    def refusals(self) -> list[Finding]:
        """What keeps the boot from starting: refusals that nobody accepted, and blind spots."""
        return [f for f in self.findings if f.stops and not self.lets_through(f)]

    @property
    def taken_risks(self) -> list[Finding]:
        """Refusals that were let through."""
        return [f for f in self.findings if f.stops and self.lets_through(f)]

    @property
    def warnings(self) -> list[Finding]:
        return [f for f in self.findings if f.status is Status.WARN]

    @property
    def passes(self) -> list[Finding]:
        return [f for f in self.findings if f.status is Status.PASS]

    @property
    def skipped(self) -> list[Finding]:
        """What was not judged, and does not matter for the verdict."""
        return [f for f in self.findings if f.status is Status.SKIPPED and not f.stops]

    def lets_through(self, finding: Finding) -> bool:
        """Whether a refusal was accepted and may be."""
        return finding.acceptable and finding.id in self.accepted

    def exit_code(self, *, fail_on_warn: bool = False) -> Exit:
        """5 or 6 if artefacts are all that is wrong, else 3 for a refusal; 4 for warnings that were to fail."""
        codes = {finding.code for finding in self.refusals}
        if codes and codes <= ARTEFACT_CODES:
            return min(codes)
        if codes:
            return Exit.REFUSED
        return Exit.WARNED if fail_on_warn and self.level is Level.WARN else Exit.DONE


def judge(case: Case, checks: Iterable[Check] = CHECKS, accepted: Collection[str] = ()) -> Verdict:
    """Run the checks over a case and weigh what they found.

    A skipped check whose facts could hide a freeze keeps the verdict at refuse (design 1.2: it stays skipped as
    a finding). An accepted refusal still counts as a warning.
    """
    findings = tuple(run_checks(case, checks))
    draft = Verdict(Level.SAFE, findings, tuple(accepted))
    level = Level.SAFE
    if draft.refusals:
        level = Level.REFUSE
    elif draft.warnings or draft.taken_risks:
        level = Level.WARN
    return Verdict(level, findings, tuple(accepted))


def check_risk_ids(ids: Iterable[str]) -> None:
    """Raises UsageError for an id that no finding can have, naming the nearest one."""
    known = known_ids()
    for id_ in ids:
        if id_ not in known:
            hint = did_you_mean(id_, sorted(known), "an id is what stands before a finding, such as MEM.AVAILABLE")
            raise UsageError(f"--accept-risk {id_}: no check has this id", fix=hint)
