"""The rules' results for tests: by id, for a shipped profile with settings on top."""

from moet_boot.profile.model import Profile
from moet_boot.profile.rules import RuleResult, check_rules
from tests.profile.shipped import with_sets


def judged(name: str, *sets: str, variant: str | None = None) -> dict[str, RuleResult]:
    """Rule id -> result."""
    return of(with_sets(name, *sets, variant=variant))


def of(profile: Profile) -> dict[str, RuleResult]:
    """Rule id -> result, for a profile that is already resolved."""
    return {result.id: result for result in check_rules(profile)}


def status(results: dict[str, RuleResult], rule: str) -> str | None:
    """`pass`, `warn`, `refuse`, or None where the rule said nothing."""
    found = results.get(rule)
    return None if found is None else found.status
