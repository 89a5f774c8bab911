"""The launch plan: the exact argv, environment, mounts and container options, computed once. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from moet_boot.errors import UsageError
from moet_boot.profile.model import Profile, SettingValue, as_text

Runtime = Literal["process", "docker"]


@dataclass(frozen=True)
class PlannedMount:
    """A bind mount; `source` is the path on the host."""

    name: str
    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class ContainerOptions:
    """What the container runtime is asked for, beyond argv, env and mounts. shm in bytes."""

    image: str
    image_arch: str
    name: str
    gpus: str | None
    network: str
    ipc: str
    shm_bytes: int | None
    entrypoint: tuple[str, ...] | None
    image_digest: str | None = None
    """The only image that may be started, by its digest in a registry or by its id; None for any of that name."""
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchPlan:
    """What will be started. The preflight judges this very object, and the launcher starts it."""

    profile: str
    variant: str | None
    runtime: Runtime
    argv: tuple[str, ...]
    env: dict[str, str]
    """What the plan adds to the environment; a process inherits the rest, a container does not."""
    mounts: tuple[PlannedMount, ...]
    paths: dict[str, str]
    """Artefact name -> path on the host."""
    model: str
    served_name: str
    host: str
    port: int
    container: ContainerOptions | None = None

    @property
    def url(self) -> str:
        """Where the server answers, as this machine reaches it."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def digest(self) -> str:
        """sha256 of the whole plan in canonical JSON: equal plans have equal digests."""
        body = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(body.encode()).hexdigest()


def build_plan(
    profile: Profile,
    *,
    runtime: Runtime | None = None,
    paths: Mapping[str, str] | None = None,
    engine: str | None = None,
    extra: Sequence[str] = (),
) -> LaunchPlan:
    """The plan of a resolved profile.

    `paths` moves artefacts (name -> path on the host), `engine` replaces the program of a process runtime,
    `extra` is appended to the server's arguments. Raises UsageError for an artefact that the profile does not
    have and for a runtime that it cannot have.
    """
    chosen = runtime or profile.engine.runtime
    places = _artefact_paths(profile, paths or {})
    mounts = _mounts(profile, places)
    if chosen == "docker":
        _refuse_program(profile, engine)
        return _container_plan(profile, places, mounts, extra)
    return _process_plan(profile, places, mounts, engine, extra)


def flag_arguments(flags: Mapping[str, SettingValue]) -> list[str]:
    """Flags as the server takes them: `true` is a bare flag, `false` its `--no-` form."""
    arguments: list[str] = []
    for name, value in flags.items():
        if value is True:
            arguments.append(name)
        elif value is False:
            arguments.append(f"--no-{name.removeprefix('--')}")
        else:
            arguments += [name, as_text(value)]
    return arguments


def _process_plan(
    profile: Profile,
    places: dict[str, str],
    mounts: tuple[PlannedMount, ...],
    engine: str | None,
    extra: Sequence[str],
) -> LaunchPlan:
    command = list(profile.engine.command)
    if not command and not engine:
        raise UsageError(
            f"profile {profile.name} has no command for the process runtime: its image decides that",
            fix=f"use --runtime docker, or name the server with --engine (profile {profile.name})",
        )
    if engine:
        command = [engine, *(command[1:] or ["serve"])]
    command[0] = expanded(command[0]) if "/" in command[0] else command[0]
    model = places.get("checkpoint", profile.engine.model)
    on_host = {mount.target: mount.source for mount in mounts}
    env = {name: on_host.get(value, value) for name, value in profile.env_values().items()}
    return LaunchPlan(
        profile=profile.name,
        variant=profile.variant,
        runtime="process",
        argv=(*command, model, *flag_arguments(_server_flags(profile)), *extra),
        env=env,
        mounts=(),
        paths=places,
        model=model,
        served_name=_served_name(profile, model),
        host=_host(profile),
        port=_port(profile),
    )


def _refuse_program(profile: Profile, engine: str | None) -> None:
    """Who asks for a program just now must not get another one; one that is set for all profiles means others."""
    asked = profile.chosen.get("engine.command")
    if engine or (asked is not None and asked.layer == "flag"):
        raise UsageError(
            f"profile {profile.name} starts a container, and its image decides which program runs",
            fix="leave --engine out, name another image with --set image=NAME, or use --runtime process",
        )


def _container_plan(
    profile: Profile,
    places: dict[str, str],
    mounts: tuple[PlannedMount, ...],
    extra: Sequence[str],
) -> LaunchPlan:
    container = profile.container
    if container is None:
        raise UsageError(
            f"profile {profile.name} has no container: it starts a program of this machine",
            fix="use --runtime process",
        )
    argv: tuple[str, ...] = ()
    if container.pass_arguments:
        # the image's own entrypoint starts the server, as in vLLM's official images
        argv = (profile.engine.model, *flag_arguments(_server_flags(profile)))
    return LaunchPlan(
        profile=profile.name,
        variant=profile.variant,
        runtime="docker",
        argv=(*argv, *extra),
        env=profile.env_values(),
        mounts=mounts,
        paths=places,
        model=profile.engine.model,
        served_name=_served_name(profile, profile.engine.model),
        host=_host(profile),
        port=_port(profile),
        container=ContainerOptions(
            image=container.image,
            image_arch=container.image_arch,
            image_digest=container.image_digest,
            name=_container_name(profile),
            gpus=container.gpus or None,
            network=container.network,
            ipc=container.ipc,
            shm_bytes=container.shm_bytes,
            entrypoint=container.entrypoint,
        ),
    )


def _container_name(profile: Profile) -> str:
    """The same for each boot, so that two of them cannot run; an engine takes fewer characters than a profile."""
    name = "-".join(["moet-boot", profile.name, *([profile.variant] if profile.variant else [])])
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def _artefact_paths(profile: Profile, given: Mapping[str, str]) -> dict[str, str]:
    unknown = sorted(set(given) - set(profile.artefacts))
    if unknown:
        known = ", ".join(profile.artefacts) or "none"
        raise UsageError(
            f"profile {profile.name} has no artefact named {unknown[0]!r}; it has: {known}",
            fix="name one of them in --path NAME=PATH",
        )
    return {name: expanded(given.get(name, a.path)) for name, a in profile.artefacts.items()}


def expanded(path: str) -> str:
    """A path with `~` replaced and made absolute, symbolic links left as they are."""
    return str(Path(path).expanduser().absolute())


def _mounts(profile: Profile, places: dict[str, str]) -> tuple[PlannedMount, ...]:
    return tuple(PlannedMount(name, places[m.artefact], m.target, m.read_only) for name, m in profile.mounts.items())


def _server_flags(profile: Profile) -> dict[str, SettingValue]:
    """The profile's flags, host and port always among them."""
    flags = {n: s.value for n, s in profile.flags.items() if not s.absent and s.value is not None}
    flags.setdefault("--host", profile.engine.host)
    flags.setdefault("--port", profile.engine.port)
    return flags


def _served_name(profile: Profile, model: str) -> str:
    if profile.container is not None and not profile.container.pass_arguments:
        return profile.engine.served_name
    name = profile.flag("--served-model-name")
    return str(name) if name is not None else model


def _host(profile: Profile) -> str:
    return str(profile.flag("--host") or profile.engine.host)


def _port(profile: Profile) -> int:
    return int(profile.flag("--port") or profile.engine.port)
