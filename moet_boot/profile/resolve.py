"""One way from what a person asked for to the resolved profile, the same for every command."""

from collections.abc import Mapping, Sequence

from moet_boot.profile.config_file import load_config
from moet_boot.profile.load import load_profile
from moet_boot.profile.model import Profile
from moet_boot.profile.overrides import apply_overrides


def resolve_profile(
    name_or_path: str, variant: str | None = None, sets: Sequence[str] = (), *, env: Mapping[str, str]
) -> Profile:
    """The profile with its variant, the config files, `MOET_BOOT_*` of `env` and `sets` (KEY=VALUE) on top.

    Raises UsageError for anything that is not valid, naming file or layer, key and the nearest known name.
    """
    profile = load_profile(name_or_path, variant)
    return apply_overrides(profile, sets, env=env, config=load_config(env))


def split_variant(reference: str) -> tuple[str, str | None]:
    """`NAME:VARIANT` in its parts; a path may have a colon of its own in front of its last folder."""
    name, colon, variant = reference.rpartition(":")
    if not colon or not name or "/" in variant or variant.endswith(".toml"):
        return reference, None
    return name, variant
