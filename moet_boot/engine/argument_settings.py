"""Arguments of the server that are settings like any other. Pure, against the dumped catalogue of vLLM's flags.

What somebody writes behind `--` must be judged, too: a second `--port` there would win over the judged one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from moet_boot.engine.flags import is_option
from moet_boot.profile.vllm_flags import canonical, settable_flags

_NOTHING = {"", "null", "None"}
"""Values that a KEY=VALUE would read as taking the setting away."""


@dataclass(frozen=True)
class Spoken:
    """Arguments in two parts: `settings` are KEY=VALUE, `rest` only the server understands."""

    settings: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()


def settings_among(arguments: Sequence[str]) -> Spoken:
    """Every known flag with one value, or none, becomes a setting; all else stays in its order."""
    words, settings, rest = list(arguments), list[str](), list[str]()
    while words:
        taken = _setting(words)
        if taken:
            settings.append(taken)
        else:
            rest.append(words.pop(0))
            # the values of a flag that stays, stay with it
            while words and not is_option(words[0]):
                rest.append(words.pop(0))
    return Spoken(tuple(settings), tuple(rest))


def _setting(words: list[str]) -> str | None:
    """Take a setting off the front of `words`; None, and nothing taken, if there is none."""
    name, has_value, value = words[0].partition("=")
    found = _flag(name) if is_option(words[0]) else None
    kind = settable_flags()[found[0]].kind if found else "list"
    if found is None or kind == "list" or (kind == "bool" and has_value):
        return None
    flag, inverted = found
    if kind == "bool":
        del words[:1]
        return f"{flag}={'false' if inverted else 'true'}"
    if not has_value:
        value = words[1] if len(words) > 1 and not is_option(words[1]) else ""
    if value in _NOTHING:
        return None
    del words[: 1 if has_value else 2]
    return f"{flag}={value}"


def _flag(name: str) -> tuple[str, bool] | None:
    """The flag and whether it is its `--no-` form; argparse takes any beginning that only one flag has."""
    found = canonical(name)
    if found is not None or not name.startswith("--"):
        return found
    full = [flag for flag in settable_flags() if flag.startswith(name.replace("_", "-"))]
    return (full[0], False) if len(full) == 1 else None
