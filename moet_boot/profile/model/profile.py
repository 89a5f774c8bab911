"""The whole profile: the tables of the other modules, supervision, what acceptance shows, advice to clients."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator

from moet_boot.phases import Phase
from moet_boot.profile.model.basics import (
    Amount,
    Reasoned,
    Setting,
    SettingValue,
    Size,
    Strict,
    Text,
    as_text,
)
from moet_boot.profile.model.machine import Artefact, Container, Engine, Hardware, Mount
from moet_boot.profile.model.memory import GuardFloors, MemoryBudget

SCHEMA = "moet-boot/profile/v1"


class Deadline(Reasoned):
    """How long one phase may take before the boot counts as hung."""

    seconds: Annotated[float, Field(gt=0)]


class Restart(Reasoned):
    """Restarts after a failure that may pass by itself."""

    budget: Size = 2
    window_s: Amount = 3600.0
    backoff_s: Amount = 10.0
    backoff_max_s: Amount = 300.0


class Acceptance(Reasoned):
    """A figure that a healthy boot of this profile shows."""

    value: float | str
    unit: str


class Sampling(Setting):
    """Advice to clients about one sampling parameter: send `value`, or leave it out where it is absent."""

    banned: tuple[float, ...] = ()


class Curve(Reasoned):
    """A published figure at several points: `x` counts `x_unit`, `y` counts `y_unit`, x rising."""

    x_unit: Text
    y_unit: Text
    points: tuple[tuple[float, float], ...] = Field(min_length=1)

    @field_validator("points")
    @classmethod
    def _rising(cls, points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        if any(left[0] >= right[0] for left, right in pairwise(points)):
            raise ValueError("points must have x rising")
        return points


class Chosen(Strict):
    """Which layer set a part of the profile that is no setting (such as `engine.port`), and who lost."""

    layer: str
    overrides: tuple[str, ...] = ()


class Profile(Strict):
    """A whole profile, its variant (if any) already applied."""

    schema_: Literal["moet-boot/profile/v1"] = Field(alias="schema")
    name: Text
    title: Text
    summary: Text
    extends: str | None = None
    variant: str | None = None
    """Which variant was applied; files do not set it."""
    hardware: Hardware
    engine: Engine
    env: dict[str, Setting] = Field(default_factory=dict)
    flags: dict[str, Setting] = Field(default_factory=dict)
    artefacts: dict[str, Artefact] = Field(default_factory=dict)
    mounts: dict[str, Mount] = Field(default_factory=dict)
    container: Container | None = None
    memory: MemoryBudget
    guard: GuardFloors
    deadlines: dict[Phase, Deadline]
    restart: Restart
    acceptance: dict[str, Acceptance] = Field(default_factory=dict)
    sampling: dict[str, Sampling] = Field(default_factory=dict)
    curves: dict[str, Curve] = Field(default_factory=dict)
    variants: dict[str, str] = Field(default_factory=dict)
    """Variants and their one-line summaries; their settings live in the file's `variant.NAME` tables."""
    chosen: dict[str, Chosen] = Field(default_factory=dict)
    """Dotted key of a part of the profile -> which layer moved it; files do not set it."""

    def flag(self, name: str) -> SettingValue | None:
        """The value of a flag (`--name`), or None when it is unset or absent on purpose."""
        setting = self.flags.get(name)
        return None if setting is None or setting.absent else setting.value

    def env_values(self) -> dict[str, str]:
        """The environment that the server gets from the profile, as strings."""
        return {name: as_text(s.value) for name, s in self.env.items() if not s.absent and s.value is not None}
