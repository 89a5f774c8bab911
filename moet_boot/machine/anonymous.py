"""Take out of a snapshot what says whose machine it is, before it leaves the machine."""

import getpass
import platform
import re
from pathlib import Path
from typing import Any

from moet_boot.machine.environment import UUID
from moet_boot.machine.snapshot import Snapshot

_HOMES = re.compile(r"/(?:home|Users|media|run/media|mnt/[a-z]/Users)/[^/\s:'\"]+")
_LONG_ID = re.compile(r"\b[0-9a-f]{32,}\b")
_REGISTRY = re.compile(r"^[^/]*[.:][^/]*/")

KEPT_IDS = frozenset({"revision", "pinned_revision", "digest", "digests"})
"""Fields whose long hex numbers name public content."""


def anonymous(snapshot: Snapshot) -> Snapshot:
    """The snapshot with homes as `~` and without UUIDs, container ids, private registries, user and host name.

    Serial numbers, addresses and secrets are never read in the first place.
    """
    names = _own_names()
    home = own_home()

    def clean(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {key: clean(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [clean(inner, field) for inner in value]
        return value if not isinstance(value, str) or field in KEPT_IDS else scrub(value, field, home, names)

    return Snapshot.model_validate(clean(snapshot.model_dump(by_alias=True)))


def without_registry(text: str, field: str) -> str:
    """The name of an image without the registry that it is from, which may be a company's own."""
    return _REGISTRY.sub("", text) if field in {"ref", "image"} else text


def own_home() -> str:
    """The user's home folder, "" for a user without one (a bare uid of a container)."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


def scrub(text: str, field: str, home: str, names: frozenset[str]) -> str:
    """One text of the snapshot. `names` are replaced where they are a whole part of a path."""
    text = without_registry(text, field)
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    text = _LONG_ID.sub("[id]", UUID.sub("[uuid]", _HOMES.sub("~", text)))
    if not text.startswith(("/", "~")):
        return text
    return "/".join("[name]" if part in names else part for part in text.split("/"))


def _own_names() -> frozenset[str]:
    """User and host name, unless they are so common that they say nothing."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    return frozenset({user, platform.node()} - {"", "root", "localhost"})
