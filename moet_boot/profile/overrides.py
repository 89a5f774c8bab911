"""What a person or a machine sets on top of a profile: typed, with the layer that won and those that lost."""

import re
from collections.abc import Mapping, Sequence

from moet_boot.profile.assignment import Assignment, lay_over, parse_assignment
from moet_boot.profile.config_file import Config
from moet_boot.profile.env_names import known_env, read_env
from moet_boot.profile.model import Profile, as_text
from moet_boot.profile.nearest import did_you_mean
from moet_boot.profile.parts import PARTS, is_part, set_part
from moet_boot.profile.vllm_flags import canonical, settable_flags

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_BETWEEN_SETS = re.compile(r"[,\n](?=\s*-{0,2}[A-Za-z][\w.-]*=)")


def apply_overrides(
    profile: Profile, sets: Sequence[str], *, env: Mapping[str, str] | None = None, config: Config | None = None
) -> Profile:
    """The profile with everything on top of it: config file, then `MOET_BOOT_*` of `env`, then `sets`.

    Each of `sets` is KEY=VALUE: the name of an environment variable, a flag with or without dashes, `port`,
    `host`, `engine`, `image`, `image-digest`, `gpus`, `path.ARTEFACT` or `sampling.NAME`. An empty VALUE, or
    `null`, leaves the setting out.
    Raises UsageError for an unknown key (with the nearest known one) and for a value of the wrong kind.
    """
    for assignment in (*_of_config(profile, config), *_of_environment(env or {}), *_of_flags(sets)):
        profile = _apply(profile, assignment)
    return profile


def _of_config(profile: Profile, config: Config | None) -> list[Assignment]:
    if config is None:
        return []
    return [
        Assignment(key, as_text(value), "config", f"config file {path}")
        for path, key, value in config.assignments(profile.name)
    ]


def _of_environment(env: Mapping[str, str]) -> list[Assignment]:
    found = []
    if env.get("MOET_BOOT_ENGINE"):
        found.append(Assignment("engine", env["MOET_BOOT_ENGINE"], "environment", "MOET_BOOT_ENGINE"))
    # JSON values have commas of their own: only a comma before the next KEY= separates
    texts = [text for text in _BETWEEN_SETS.split(env.get("MOET_BOOT_SET", "")) if text.strip()]
    return found + [parse_assignment(text, "environment", "MOET_BOOT_SET") for text in texts]


def _of_flags(sets: Sequence[str]) -> list[Assignment]:
    return [parse_assignment(text, "flag", "--set") for text in sets]


def _apply(profile: Profile, given: Assignment) -> Profile:
    name = given.key.lstrip("-").replace("_", "-")
    if is_part(given.key, name):
        return set_part(profile, name, given)
    try:
        return _set_env(profile, given) if _ENV_NAME.fullmatch(given.key) else _set_flag(profile, given)
    except ValueError as error:
        raise given.refuse(str(error), f"see `moet-boot profiles explain {profile.name}`") from None


def _set_env(profile: Profile, given: Assignment) -> Profile:
    known = known_env(profile)
    if given.key not in known:
        raise given.refuse(
            "no such environment variable of the server",
            did_you_mean(given.key, known, "moet-boot knows the names of vLLM, vLLM-Moet and common libraries"),
        )
    value = None if given.removes else read_env(profile, given.key, given.text)
    setting = lay_over(profile.env.get(given.key), value, given)
    return profile.model_copy(update={"env": {**profile.env, given.key: setting}})


def _set_flag(profile: Profile, given: Assignment) -> Profile:
    found, flags = canonical(given.key), settable_flags(profile.engine.vllm_version)
    if found is None:
        known = [*flags, *PARTS]
        raise given.refuse(
            "no such flag of the server",
            did_you_mean(given.key, known, "flags that moet-boot does not know go after `--` of `serve`"),
        )
    flag, inverted = found
    if flags[flag].kind == "bool":
        return _set_switch(profile, flag, given, inverted=inverted)
    value = None if given.removes else flags[flag].read(given.text)
    setting = lay_over(profile.flags.get(flag), value, given)
    return profile.model_copy(update={"flags": {**profile.flags, flag: setting}})


def _set_switch(profile: Profile, flag: str, given: Assignment, *, inverted: bool) -> Profile:
    """A switch is written in the form that is true: `--x`, or `--no-x` where the server has that."""
    negative, known = f"--no-{flag.removeprefix('--')}", settable_flags(profile.engine.vllm_version)[flag]
    wanted = None if given.removes else bool(known.read(given.text)) is not inverted
    name = negative if wanted is False and known.negatable else flag
    value = True if wanted or name == negative else None
    before = next((form for form in (flag, negative) if form in profile.flags), None)
    old = profile.flags[before] if before else None
    form = before if before and before != name and old and not old.absent else ""
    others = {other: setting for other, setting in profile.flags.items() if other not in {flag, negative}}
    return profile.model_copy(update={"flags": {**others, name: lay_over(old, value, given, form or "")}})
