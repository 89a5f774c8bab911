"""What every table of a profile is made of: strict models, values with units, decisions with reasons."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

SettingValue = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
Size = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Port = Annotated[int, Field(ge=1, le=65535)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REGISTRY = r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = "sha256:[0-9a-f]{64}"
IMAGE_NAME = rf"^(?:(?:{_REGISTRY})?{_PART}(?:/{_PART})*(?::{_TAG})?(?:@{_DIGEST})?|{_DIGEST})$"
"""What a container engine takes for an image: `[registry/]name[:tag][@sha256:...]`, or an image's id."""
ImageName = Annotated[str, Field(pattern=IMAGE_NAME)]
Digest = Annotated[str, Field(pattern=f"^{_DIGEST}$")]
Revision = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


class Strict(BaseModel):
    """A table of a profile: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Reasoned(Strict):
    """Anything a profile decides: why, on whose word, and what was measured."""

    why: Text
    source: Text
    measured: str | None = None


class Setting(Reasoned):
    """One environment variable or one server flag.

    `value`: what is passed; `true` is a bare flag, `null` (key absent) with `absent = true` means that the
    setting is left out on purpose and that the reason says why.
    `layer`: which layer of the precedence set it (profile, variant, config, environment, flag).
    `overrides`: the losing values, `layer=value`, nearest first. The resolver fills both, files do not.
    """

    value: SettingValue | None = None
    absent: bool = False
    layer: str = "profile"
    overrides: tuple[str, ...] = ()
    replaced_why: str | None = None
    """The profile's reason for its own value, where a layer above replaced it; the resolver's too."""


def as_text(value: SettingValue) -> str:
    """A setting as the server reads it: booleans are 1 and 0, whole floats have no tail."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
