"""What every group of a snapshot has in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KB = 1024
"""The kernel's kB of /proc/meminfo and /proc/swaps, in bytes."""

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A number of things, or bytes where the name says so; never negative, and no more than a kernel can count."""

Percent = Annotated[float, Field(ge=0.0, le=100.0)]


class Group(BaseModel):
    """A group of facts: frozen; keys that this version does not know are kept out of the way."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, allow_inf_nan=False)
