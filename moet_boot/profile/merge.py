"""One profile file laid over another: tables merge, values replace, a setting's reason leaves with its value."""

from collections.abc import Mapping
from typing import Any

from moet_boot.profile.files import Raw

SETTING_TABLES = ("env", "flags", "sampling")
_REASONS = ("why", "source", "measured")
_VALUE = ("value", "absent")


def merge_profiles(base: Raw, over: Raw, *, under_name: str, over_name: str, layer: str) -> Raw:
    """`over` laid over `base`.

    A setting that gets another value loses the reason and the measured figure of the old one, keeps the old
    value in its `overrides` as `under_name=value`, and says that no reason was given if none was.
    """
    merged = _merge_tables(base, {k: v for k, v in over.items() if k not in SETTING_TABLES})
    for table in SETTING_TABLES:
        if table not in over:
            continue
        theirs, ours = base.get(table, {}), over[table]
        if not isinstance(theirs, dict) or not isinstance(ours, dict):
            merged[table] = ours
            continue
        merged[table] = {
            **theirs,
            **{name: _lay_over(theirs.get(name), new, under_name, over_name, layer) for name, new in ours.items()},
        }
    return merged


def _lay_over(old: Any, new: Any, under_name: str, over_name: str, layer: str) -> Any:
    if not isinstance(new, dict):
        return new
    if not isinstance(old, dict):
        return {"layer": layer, **new}
    if not any(key in new for key in _VALUE):
        return {**old, **new}
    kept = {k: v for k, v in old.items() if k not in {*_REASONS, *_VALUE}}
    losers = [*new.get("overrides", []), f"{under_name}={describe(old)}", *kept.pop("overrides", [])]
    unsaid = {"why": f"no reason given in {over_name}", "source": over_name}
    return {**kept, **unsaid, **new, "layer": layer, "overrides": losers}


def describe(setting: Mapping[str, Any]) -> str:
    """The value of a raw setting in words."""
    return "absent" if setting.get("absent") or "value" not in setting else str(setting["value"])


def _merge_tables(base: Raw, over: Raw) -> Raw:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge_tables(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
