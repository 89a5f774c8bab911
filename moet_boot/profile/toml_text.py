"""A resolved profile as TOML: what it prints loads again, so it can be saved and edited."""

import json
import re
from collections.abc import Mapping

from moet_boot.profile.model import Profile

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_FILLED = frozenset({"layer", "overrides", "replaced_why"})
"""What the resolver puts into settings; a file must not say it. A table of that name is somebody's variable."""


def to_toml(profile: Profile) -> str:
    """The profile with variant and overrides applied, as a complete profile file of its own."""
    skipped = {"extends", "variant", "variants", "chosen"}
    tables = profile.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=skipped)
    origin = profile.name + (f", variant {profile.variant}" if profile.variant else "")
    document = {"schema": profile.schema_, **tables}
    return "\n".join([f"# Resolved from {origin}", *_table("", document)]) + "\n"


def _table(path: str, content: Mapping[str, object]) -> list[str]:
    kept = {name: value for name, value in content.items() if value is not None and not _filled(name, value)}
    plain = {name: value for name, value in kept.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    if path and lines:
        lines = ["", f"[{path}]", *lines]
    for name, value in kept.items():
        if isinstance(value, Mapping):
            lines += _table(f"{path}.{_key(name)}" if path else _key(name), value)
    return lines


def _filled(name: str, value: object) -> bool:
    return name in _FILLED and not isinstance(value, Mapping)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        # JSON and TOML escape strings alike, but for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value)
