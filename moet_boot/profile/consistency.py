"""What one table of a profile says must agree with what another says."""

from moet_boot.profile.model import Profile, Setting
from moet_boot.profile.problem import Problem

_TWICE = {"--port": "port", "--host": "host", "--served-model-name": "served_name"}


def inconsistencies(profile: Profile) -> list[Problem]:
    """Every place where the profile contradicts itself."""
    return [
        *_settings(profile),
        *_mounts(profile),
        *_twice(profile),
        *_runtime(profile),
    ]


def _settings(profile: Profile) -> list[Problem]:
    named = [(f"env.{n}", s) for n, s in profile.env.items()] + [(f"flags.{n}", s) for n, s in profile.flags.items()]
    found = [Problem("", key, what, "give value, or absent = true") for key, s in named if (what := _unsound(s))]
    return found + [
        Problem("", f"flags.{name}", "a flag is written with its two dashes", f'write "--{name.lstrip("-")}"')
        for name in profile.flags
        if not name.startswith("--")
    ]


def _unsound(setting: Setting) -> str:
    if setting.absent and setting.value is not None:
        return "has a value and is absent"
    if not setting.absent and setting.value is None:
        return "has no value"
    return ""


def _mounts(profile: Profile) -> list[Problem]:
    known = ", ".join(profile.artefacts) or "none"
    return [
        Problem(
            "",
            f"mounts.{name}.artefact",
            f"names {mount.artefact!r}, which is no artefact",
            f"known: {known}",
        )
        for name, mount in profile.mounts.items()
        if mount.artefact not in profile.artefacts
    ]


def _twice(profile: Profile) -> list[Problem]:
    """Host, port and served name: `engine` is for who asks the server, the flags are for the server."""
    found = []
    for flag, field in _TWICE.items():
        value, truth = profile.flag(flag), getattr(profile.engine, field)
        if value is not None and value != truth:
            what = f"is {value!r}, but engine.{field} is {truth!r}"
            fix = "give both the same value"
            found.append(Problem("", f"flags.{flag}", what, fix, against=f"engine.{field}"))
    return found


def _runtime(profile: Profile) -> list[Problem]:
    if profile.engine.runtime == "docker" and profile.container is None:
        return [Problem("", "container", "is missing, and engine.runtime is docker", "add a [container] table")]
    if profile.engine.runtime == "process" and not profile.engine.command:
        return [Problem("", "engine.command", "is empty, and engine.runtime is process", "name the program")]
    return []
