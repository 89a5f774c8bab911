"""Loading a profile: find the file, lay it over what it extends, apply the variant, check every key."""

import json
from pathlib import Path

from pydantic import ValidationError

from moet_boot.profile.consistency import inconsistencies
from moet_boot.profile.files import Raw, is_path, locate, read_toml
from moet_boot.profile.merge import SETTING_TABLES, merge_profiles
from moet_boot.profile.model import Profile
from moet_boot.profile.nearest import did_you_mean
from moet_boot.profile.problem import Problem, ProfileError
from moet_boot.profile.validation import explain_errors

PLAIN = "plain"
"""The name of a profile without any of its variants."""

_RESOLVED = ("variants", "chosen")
_RESOLVED_SETTING = ("layer", "overrides", "replaced_why")


def load_profile(name_or_path: str, variant: str | None = None) -> Profile:
    """A shipped profile by name, or a file of anybody's own by path, with one variant applied.

    Raises ProfileError (a UsageError) that names file, key and the nearest known name; its `problems` has
    everything that was found.
    """
    path = locate(name_or_path)
    shown = str(path) if is_path(name_or_path) else path.name
    raw = _with_variant(_read_chain(path, shown, ()), shown, variant)
    try:
        # JSON in strict mode: a number in quotes is an error, a TOML array still becomes a tuple
        profile = Profile.model_validate_json(json.dumps(raw, default=str), strict=True)
    except ValidationError as error:
        raise ProfileError(explain_errors(error, raw, shown)) from None
    found = inconsistencies(profile, shown)
    if found:
        raise ProfileError(found)
    return profile


def _read_chain(path: Path, shown: str, seen: tuple[Path, ...]) -> Raw:
    """The tables of a file laid over those of the file that it extends, and so on."""
    real = path.resolve()
    if real in seen:
        circle = " -> ".join(p.name for p in (*seen[seen.index(real) :], real))
        fix = "let one of them extend a shipped profile, or nothing"
        raise ProfileError([Problem(shown, "extends", f"goes round in a circle: {circle}", fix)])
    raw = read_toml(path)
    _refuse_resolved_keys(raw, shown)
    raw.setdefault("name", path.stem)
    parent = raw.get("extends")
    if parent is None:
        return raw
    if not isinstance(parent, str) or not parent:
        fix = 'write extends = "spark", or a path'
        raise ProfileError([Problem(shown, "extends", f"is {parent!r}, expected the name of a profile", fix)])
    try:
        above = locate(parent, path.parent)
        below = _read_chain(above, parent, (*seen, real))
    except ProfileError as error:
        first = error.problems[0]
        if first.file == repr(parent):
            raise ProfileError([Problem(shown, "extends", f"{first}", first.fix)]) from None
        raise
    return _extend(below, raw, parent, shown)


def _extend(below: Raw, raw: Raw, parent: str, shown: str) -> Raw:
    under = str(below.get("name", parent))
    merged = merge_profiles(below, raw, under_name=under, over_name=shown, layer="profile")
    variants, ours = below.get("variant", {}), raw.get("variant", {})
    if isinstance(variants, dict) and isinstance(ours, dict):
        merged["variant"] = variants | {
            name: merge_profiles(variants.get(name, {}), table, under_name=under, over_name=shown, layer="variant")
            if isinstance(table, dict)
            else table
            for name, table in ours.items()
        }
    return merged


def _with_variant(raw: Raw, shown: str, variant: str | None) -> Raw:
    tables = raw.pop("variant", {})
    problems = _variant_problems(tables, shown)
    if problems:
        raise ProfileError(problems)
    raw["variants"] = {name: table["summary"] for name, table in tables.items()}
    if variant is None or variant == PLAIN:
        return raw
    if variant not in tables:
        names = [PLAIN, *tables]
        what = f"profile {raw['name']} has no variant {variant!r}; it has {', '.join(names)}"
        raise ProfileError([Problem(shown, "variant", what, did_you_mean(variant, names, "choose one of them"))])
    table = {key: value for key, value in tables[variant].items() if key != "summary"}
    merged = merge_profiles(
        raw, table, under_name="profile", over_name=f"variant {variant} of {shown}", layer="variant"
    )
    return merged | {"variant": variant}


def _variant_problems(tables: object, shown: str) -> list[Problem]:
    if not isinstance(tables, dict):
        fix = "variants are tables: [variant.NAME] with a summary and what they change"
        return [Problem(shown, "variant", "files do not choose a variant, --variant does", fix)]
    return [
        Problem(shown, f"variant.{name}", "must be a table with a one-line `summary`", 'add summary = "..."')
        for name, table in tables.items()
        if not isinstance(table, dict) or not isinstance(table.get("summary"), str)
    ]


def _refuse_resolved_keys(raw: Raw, shown: str) -> None:
    """Keys that the resolver fills must not come from a file: they would claim what did not happen."""
    keys = [key for key in _RESOLVED if key in raw]
    for table in (raw, *_tables(raw.get("variant"))):
        for kind in SETTING_TABLES:
            settings = table.get(kind)
            if isinstance(settings, dict):
                keys += [
                    f"{kind}.{name}.{key}"
                    for name, setting in settings.items()
                    if isinstance(setting, dict)
                    for key in _RESOLVED_SETTING
                    if key in setting
                ]
    if keys:
        raise ProfileError([Problem(shown, k, "is filled by moet-boot, not by files", "remove it") for k in keys])


def _tables(value: object) -> list[Raw]:
    return [table for table in value.values() if isinstance(table, dict)] if isinstance(value, dict) else []
