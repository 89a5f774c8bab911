"""Shipped profiles for tests: read once, and resolved with settings on top."""

from functools import cache

from moet_boot.profile.load import load_profile
from moet_boot.profile.model import Profile
from moet_boot.profile.overrides import apply_overrides

VARIANTS: list[tuple[str, str | None]] = [
    ("spark", None),
    ("spark", "mtp"),
    ("rtx6000-a", None),
    ("rtx6000-b", None),
    ("rtx6000-b", "mtp"),
    ("demo", None),
]
"""Every shipped profile and variant."""

MTP = 'speculative-config={"method":"deepseek_mtp","num_speculative_tokens":2}'


@cache
def shipped(name: str, variant: str | None = None) -> Profile:
    """A shipped profile as it is."""
    return load_profile(name, variant)


def with_sets(name: str, *sets: str, variant: str | None = None) -> Profile:
    """A shipped profile with KEY=VALUE on top, as --set gives them."""
    return apply_overrides(shipped(name, variant), sets)
