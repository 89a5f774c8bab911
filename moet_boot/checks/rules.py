"""RULE.*: the profile's rules as findings."""

from moet_boot.checks.finding import Finding, Status
from moet_boot.profile.model import Profile
from moet_boot.profile.rules import RULES, check_rules

RULE_IDS: tuple[str, ...] = tuple(rule.id for rule in RULES)


def rule_findings(profile: Profile) -> list[Finding]:
    """Every rule that says something about a resolved profile."""
    return [
        Finding(
            id=result.id,
            status=Status(result.status),
            title=result.title,
            measured=result.measured,
            required=result.required,
            why=result.why,
            fix=result.fix,
            source=result.source,
        )
        for result in check_rules(profile)
    ]
