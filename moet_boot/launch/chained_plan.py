"""The plan of a boot from inside a container: what the image would have started by itself, as a process. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from moet_boot.errors import UsageError
from moet_boot.launch.plan import LaunchPlan, build_plan
from moet_boot.profile.model import Profile


@dataclass(frozen=True)
class Chain:
    """Entrypoint and command of the image below ours."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def chained_plan(
    profile: Profile, chain: Chain, *, paths: Mapping[str, str] | None = None, extra: Sequence[str] = ()
) -> LaunchPlan:
    """The plan that starts the image's own entrypoint here, with the arguments that it would get from outside.

    A profile that passes arguments gives them, `extra` behind; an image that is started with none keeps its own
    command, which `extra` replaces, as in `docker run IMAGE EXTRA`. Artefacts lie where the profile mounts them,
    unless `paths` or a setting moves them. Raises UsageError when nothing says what to start.
    """
    container = profile.container
    outside = build_plan(profile, runtime="docker" if container else "process", paths=paths)
    if container is None:
        arguments = (*outside.argv[len(profile.engine.command) :], *extra)
    elif container.pass_arguments:
        arguments = (*outside.argv, *extra)
    else:
        arguments = tuple(extra) or chain.command
    argv = (*_program(profile, chain), *arguments)
    if not argv:
        raise UsageError(
            "nothing says what to start: the image below has neither entrypoint nor command",
            fix="build the image with scripts/build_image, which records both, or set MOET_BOOT_ENGINE",
        )
    return replace(
        outside,
        runtime="process",
        argv=argv,
        mounts=(),
        container=None,
        paths=_inside(profile, outside.paths, paths or {}),
    )


def _program(profile: Profile, chain: Chain) -> tuple[str, ...]:
    """What a person named, else what the profile sets, else the image's own, else the profile's program."""
    if "engine.command" in profile.chosen:
        return profile.engine.command
    set_by_profile = profile.container.entrypoint if profile.container else None
    return set_by_profile or chain.entrypoint or profile.engine.command


def _inside(profile: Profile, places: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    mounted = {mount.artefact: mount.target for mount in profile.mounts.values()}
    moved = {name for name in places if name in given or f"artefacts.{name}.path" in profile.chosen}
    return {name: place if name in moved else mounted.get(name, place) for name, place in places.items()}
