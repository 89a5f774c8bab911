"""The JSON Schema of a profile file, for editors and for people who write their own."""

import copy
from typing import Any

from moet_boot.profile.model import SCHEMA, Profile

Schema = dict[str, Any]

_FILLED = {"Setting": ("layer", "overrides", "replaced_why"), "Sampling": ("layer", "overrides", "replaced_why")}
_TOP_FILLED = ("variant", "variants", "chosen")


def profile_schema() -> Schema:
    """The schema of a file: complete on its own, or in parts when it extends another; with variants.

    Keys that only the resolver fills are not in it.
    """
    whole = Profile.model_json_schema(by_alias=True)
    definitions = whole.pop("$defs")
    for name, keys in _FILLED.items():
        for key in keys:
            definitions[name]["properties"].pop(key, None)
    for key in _TOP_FILLED:
        whole["properties"].pop(key, None)
    part = _optional(whole)
    partial = {f"{name}Part": _optional(table) for name, table in definitions.items()}
    variant = copy.deepcopy(part)
    for key in ("schema", "name", "title", "extends"):
        variant["properties"].pop(key)
    variant |= {"title": "Variant", "required": ["summary"]}
    properties = {"variant": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Variant"}}}
    for table in (whole, part):
        table["properties"] |= properties
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "moet-boot profile",
        "if": {"required": ["extends"]},
        "then": {"$ref": "#/$defs/ProfilePart"},
        "else": {"$ref": "#/$defs/Profile"},
        "$defs": {**definitions, **partial, "Profile": whole, "ProfilePart": part, "Variant": variant},
    }


def _optional(table: Schema) -> Schema:
    """The same table with nothing required, all the way down: for a file that changes another."""
    part = copy.deepcopy(table)
    part.pop("required", None)
    _refer_to_parts(part)
    return part


def _refer_to_parts(node: object) -> None:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            node["$ref"] = f"{target}Part"
        for value in node.values():
            _refer_to_parts(value)
    elif isinstance(node, list):
        for value in node:
            _refer_to_parts(value)
