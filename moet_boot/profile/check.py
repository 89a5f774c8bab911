"""Checking a profile file as a whole: keys, values, every variant, and the rules between settings."""

from dataclasses import dataclass

from moet_boot.profile.load import PLAIN, load_every_variant
from moet_boot.profile.problem import Problem
from moet_boot.profile.rules import RuleResult, check_rules


@dataclass(frozen=True)
class Judged:
    """One rule's result for one variant."""

    variant: str
    result: RuleResult


@dataclass(frozen=True)
class CheckedProfile:
    """One file: what is wrong with it, the variants that load, and what the rules say beyond `pass`."""

    profile: str
    variants: tuple[str, ...]
    problems: tuple[Problem, ...]
    judged: tuple[Judged, ...]

    @property
    def refused(self) -> bool:
        """Whether a rule refuses one of the variants."""
        return any(one.result.status == "refuse" for one in self.judged)


def check_profile(name_or_path: str) -> CheckedProfile:
    """Everything that can be said about a profile without a machine; nothing is raised for what is wrong in it."""
    profiles, problems = load_every_variant(name_or_path)
    judged = [
        Judged(profile.variant or PLAIN, result)
        for profile in profiles
        for result in check_rules(profile)
        if result.status != "pass"
    ]
    names = tuple(profile.variant or PLAIN for profile in profiles)
    return CheckedProfile(name_or_path, names, tuple(problems), tuple(judged))
