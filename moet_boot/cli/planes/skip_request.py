"""From the options of `planes skip-forecast` to the boot that it is about."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.planes.path_map import PathMap
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest


@dataclass(frozen=True)
class SkipOptions:
    """The options as they were typed; None where the profile decides."""

    profile: str | None
    variant: str | None
    sets: list[str]
    env: list[str]
    model_dir: Path | None
    served_path: str | None
    maps: list[str]
    server: ServerVersion | None
    tp: int | None
    rank: int
    revision: str
    paths: list[str] = field(default_factory=list)


def read_skip_request(options: SkipOptions) -> SkipRequest:
    """The boot of the profile with the other options on top, or of the options alone.

    Raises UsageError for options that are not valid or leave something open.
    """
    env = dict(_assignment(text) for text in options.env)
    base = _from_profile(options) if options.profile else _from_options(options)
    mounts = PathMap.parse(options.maps)
    return replace(
        base,
        env={**base.env, **env},
        model_dir=options.model_dir or base.model_dir,
        served_path=options.served_path if options.served_path is not None else base.served_path,
        server=options.server or base.server,
        mounts=PathMap((*mounts.mounts, *base.mounts.mounts)),
        world=options.tp or base.world,
        rank=options.rank,
        revision=options.revision,
    )


def _from_options(options: SkipOptions) -> SkipRequest:
    if options.variant or options.sets or options.paths:
        raise UsageError(
            "--variant, --set and --path change a profile, and there is none",
            fix="add --profile, or use --env, --model-dir and --map",
        )
    if options.model_dir is None or options.served_path is None or options.server is None:
        needed = {
            "--model-dir": options.model_dir,
            "--served-path": options.served_path,
            "--server": options.server,
        }
        missing = _listed(name for name, value in needed.items() if value is None)
        raise UsageError(f"without --profile a forecast also needs {missing}", fix=f"give {missing}, or --profile NAME")
    return SkipRequest({}, options.model_dir, options.served_path, options.server)


def _from_profile(options: SkipOptions) -> SkipRequest:
    from moet_boot.launch.plan import build_plan
    from moet_boot.machine.request import request_for
    from moet_boot.preflight.request import named_paths
    from moet_boot.profile.resolve import resolve_profile

    profile = resolve_profile(str(options.profile), options.variant, options.sets, env=os.environ)
    request = request_for(profile, build_plan(profile, paths=named_paths(options.paths))).stores
    if request is None:
        raise UsageError(
            f"the server of profile {profile.name} boots from neither packs nor a planes cache, so nothing is skipped",
            fix="`moet-boot planes verify` checks a plane file; --env forecasts a boot without a profile",
        )
    return request


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env takes KEY=VALUE, got {text!r}", fix="for example --env VLLM_MOE_W2=1")
    return name, value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
