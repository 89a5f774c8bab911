"""Loading a profile: find the file, lay it over what it extends, apply the variant, check every key."""

import json

from pydantic import ValidationError

from moet_boot.profile.chain import Chain, attribute, merged, read_chain
from moet_boot.profile.consistency import inconsistencies
from moet_boot.profile.files import Raw
from moet_boot.profile.merge import merge_profiles
from moet_boot.profile.model import Profile
from moet_boot.profile.nearest import did_you_mean
from moet_boot.profile.problem import Problem, ProfileError
from moet_boot.profile.validation import explain_errors

PLAIN = "plain"
"""The name of a profile without any of its variants."""


def load_profile(name_or_path: str, variant: str | None = None) -> Profile:
    """A shipped profile by name, or a file of anybody's own by path, with one variant applied.

    Raises ProfileError (a UsageError) that names file, line, key and the nearest known name; its `problems`
    has everything that was found.
    """
    return _build(read_chain(name_or_path), None if variant == PLAIN else variant)


def load_every_variant(name_or_path: str) -> tuple[list[Profile], list[Problem]]:
    """The profile and each of its variants, those that load, and every problem of those that do not."""
    profiles: list[Profile] = []
    problems: dict[Problem, None] = {}
    try:
        chain = read_chain(name_or_path)
    except ProfileError as error:
        return [], list(error.problems)
    tables = merged(chain).get("variant")
    for variant in (None, *(tables if isinstance(tables, dict) else ())):
        try:
            profiles.append(_build(chain, variant))
        except ProfileError as error:
            problems |= dict.fromkeys(error.problems)
    return profiles, list(problems)


def _build(chain: Chain, variant: str | None) -> Profile:
    tables = merged(chain)
    variants = tables.pop("variant", {})
    found = _variant_problems(variants) or _unknown_variant(variants, variant, str(tables["name"]))
    if found:
        raise ProfileError(attribute(found, chain, None))
    tables["variants"] = {name: table["summary"] for name, table in variants.items()}
    if variant is not None:
        tables = _with_variant(tables, variants[variant], variant)
    return _validated(tables, chain, variant)


def _validated(tables: Raw, chain: Chain, variant: str | None) -> Profile:
    try:
        # JSON in strict mode: a number in quotes is an error, a TOML array still becomes a tuple
        profile = Profile.model_validate_json(json.dumps(tables, default=str), strict=True)
    except ValidationError as error:
        raise ProfileError(attribute(explain_errors(error, tables), chain, variant)) from None
    found = inconsistencies(profile)
    if found:
        raise ProfileError(attribute(found, chain, variant))
    return profile


def _with_variant(tables: Raw, changes: Raw, variant: str) -> Raw:
    changes = {key: value for key, value in changes.items() if key != "summary"}
    over = f"variant {variant} of {tables['name']}"
    return merge_profiles(tables, changes, under_name="profile", over_name=over, layer="variant") | {"variant": variant}


def _variant_problems(variants: object) -> list[Problem]:
    if not isinstance(variants, dict):
        fix = "variants are tables: [variant.NAME] with a summary and what they change"
        return [Problem("", "variant", "files do not choose a variant, --variant does", fix)]
    what, fix = "must be a table with a one-line `summary`", 'add summary = "..."'
    return [
        Problem("", f"variant.{name}", what, fix)
        for name, table in variants.items()
        if not isinstance(table, dict) or not isinstance(table.get("summary"), str)
    ]


def _unknown_variant(variants: Raw, variant: str | None, name: str) -> list[Problem]:
    if variant is None or variant in variants:
        return []
    known = [PLAIN, *variants]
    what = f"profile {name} has no variant {variant!r}; it has {', '.join(known)}"
    return [Problem("", "", what, did_you_mean(variant, known, "choose one of them"))]
