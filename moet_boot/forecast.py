"""The memory of a boot by phase: the only place with that arithmetic. All sizes in bytes."""

from dataclasses import dataclass
from typing import Literal

from moet_boot.phases import Phase


@dataclass(frozen=True)
class Term:
    """A part of the memory of a boot, held from `first` to `last`, with where the number comes from."""

    name: str
    bytes: int
    pool: Literal["gpu", "host"]
    first: Phase
    last: Phase
    source: str


@dataclass(frozen=True)
class PhasePeak:
    """What one phase needs at its worst moment. On unified memory both figures come out of one pool."""

    phase: Phase
    host_bytes: int
    gpu_bytes: int
    source: Literal["model", "measured"]


@dataclass(frozen=True)
class Forecast:
    """The forecast of one boot."""

    unified: bool
    terms: tuple[Term, ...]
    phases: tuple[PhasePeak, ...]
    host_required_bytes: int
    """Host memory that must be available before the start (on unified memory: everything, floor included)."""
    gpu_required_bytes: int
    """VRAM that must be free before the start; 0 on unified memory and without a GPU."""
