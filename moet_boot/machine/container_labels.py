"""The labels on containers that moet-boot started: by them it knows its own, and touches no other."""

from collections.abc import Iterable

LABEL = "io.moet-boot"
PROFILE_LABEL = f"{LABEL}.profile"
PLAN_LABEL = f"{LABEL}.plan"
VERSION_LABEL = f"{LABEL}.version"
SUPERVISOR_LABEL = f"{LABEL}.supervisor"
"""Which running moet-boot started it. A container that a person made from a printed `docker run` line has the other
labels but not this one: it is that person's, and stays untouched."""


def is_ours(labels: Iterable[str]) -> bool:
    """Whether a container with these labels was started by moet-boot."""
    return SUPERVISOR_LABEL in labels
