"""What two resolved profiles decide differently."""

from collections.abc import Mapping
from dataclasses import dataclass

from moet_boot.profile.assignment import words_of
from moet_boot.profile.model import Profile, Setting

_REASONS = frozenset({"why", "source", "measured", "layer", "overrides", "replaced_why"})
_NAMES = frozenset({"schema_", "name", "title", "summary", "extends", "variant", "variants", "chosen"})


@dataclass(frozen=True)
class Difference:
    """One key with its value on both sides, None where a side says nothing; the reasons are a setting's."""

    key: str
    left: str | None
    right: str | None
    left_why: str | None = None
    right_why: str | None = None


def diff_profiles(left: Profile, right: Profile) -> list[Difference]:
    """Every decision that differs, in the order of the left profile; reasons alone make no difference."""
    ours, theirs = _flat(left), _flat(right)
    return [
        Difference(key, ours.get(key), theirs.get(key), _why(left, key), _why(right, key))
        for key in [*ours, *(k for k in theirs if k not in ours)]
        if ours.get(key) != theirs.get(key)
    ]


def _flat(profile: Profile) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in profile.model_dump(mode="json", exclude=set(_NAMES)).items():
        _flatten(name, value, flat)
    return flat


def _flatten(key: str, value: object, into: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        if {"value", "absent"} <= value.keys():
            into[key] = words_of(None if value["absent"] else value["value"])
            return
        for name, inner in value.items():
            if name not in _REASONS:
                _flatten(f"{key}.{name}", inner, into)
    elif isinstance(value, list):
        into[key] = " ".join(_words(item) for item in value)
    elif value is not None:
        into[key] = _words(value)


def _words(value: object) -> str:
    if isinstance(value, list):
        return ":".join(_words(item) for item in value)
    return words_of(value) if isinstance(value, str | int | float | bool) else str(value)


def _why(profile: Profile, key: str) -> str | None:
    table, _, name = key.partition(".")
    settings: dict[str, dict[str, Setting]] = {"env": profile.env, "flags": profile.flags}
    setting = settings.get(table, {}).get(name)
    return None if setting is None else setting.why
