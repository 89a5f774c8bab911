"""The config file: what this machine sets for every boot, below the environment and the command line."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_config_path
from pydantic import Field, ValidationError

from moet_boot.profile.chain import attribute
from moet_boot.profile.files import expanded, read_toml
from moet_boot.profile.model import SettingValue, Strict
from moet_boot.profile.parts import PATH_PREFIX
from moet_boot.profile.problem import ProfileError
from moet_boot.profile.validation import explain_errors


class Section(Strict):
    """`[set]` and `[path]`: settings, and where artefacts are."""

    set: dict[str, SettingValue] = Field(default_factory=dict)
    path: dict[str, str] = Field(default_factory=dict)


class ConfigFile(Section):
    """A whole file: for every profile, and under `[profiles.NAME]` for one."""

    schema_: Literal["moet-boot/config/v1"] = Field(default="moet-boot/config/v1", alias="schema")
    profiles: dict[str, Section] = Field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """The files that exist, the weakest first."""

    files: tuple[tuple[Path, ConfigFile], ...] = ()

    def assignments(self, profile: str) -> list[tuple[Path, str, SettingValue]]:
        """(file, key, value) for this profile, the weakest first."""
        found: list[tuple[Path, str, SettingValue]] = []
        for path, content in self.files:
            for section in (content, content.profiles.get(profile, Section())):
                found += [(path, key, value) for key, value in section.set.items()]
                found += [(path, f"{PATH_PREFIX}{name}", place) for name, place in section.path.items()]
        return found


def config_folders() -> tuple[Path, ...]:
    """Where a `config.toml` is looked for: the machine's folder, then the user's."""
    return Path("/etc/moet-boot"), user_config_path("moet-boot")


def load_config(env: Mapping[str, str], folders: Sequence[Path] | None = None) -> Config:
    """The config of this machine and this user, and the file that `MOET_BOOT_CONFIG` of `env` names.

    Raises ProfileError (a UsageError) that names file and key; a file that is named must exist.
    """
    usual = [folder / "config.toml" for folder in (config_folders() if folders is None else folders)]
    paths = [path for path in usual if os.access(path, os.F_OK)]
    if env.get("MOET_BOOT_CONFIG"):
        paths.append(expanded(env["MOET_BOOT_CONFIG"]))
    return Config(tuple((path, read_config(path)) for path in paths))


def read_config(path: Path) -> ConfigFile:
    """One config file; raises ProfileError that names file, line and key."""
    file = read_toml(path, str(path), "a config file")
    try:
        return ConfigFile.model_validate_json(json.dumps(file.tables, default=str), strict=True)
    except ValidationError as error:
        problems = explain_errors(error, file.tables, ConfigFile)
        raise ProfileError(attribute(problems, (file,), None)) from None
