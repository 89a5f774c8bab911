"""What `planes inspect` says about one artefact."""

from dataclasses import dataclass
from pathlib import Path

from moet_boot.planes.geometry import Geometry


@dataclass(frozen=True)
class Description:
    """One plane file, pack or cache folder.

    `format` is own, foreign or own-header-damaged for a plane file, v1 or v2 otherwise. `geometry` is None
    when the artefact does not state it and no known model fits. Sizes are bytes: `apparent_bytes` what
    `ls` shows, `allocated_bytes` what is really stored, `expected_bytes` what it should have (None:
    unknown). `hole_layers` are present layers with unwritten parts. `problems` are damage, `notes` are not.
    """

    kind: str
    format: str
    path: Path
    apparent_bytes: int
    allocated_bytes: int
    layers: tuple[int, ...]
    n_layers: int | None = None
    n_experts: int | None = None
    slot_bytes: int | None = None
    stride: int | None = None
    geometry: Geometry | None = None
    tag: str | None = None
    world: int = 1
    rank: int = 0
    ckpt_id: str | None = None
    repo: str | None = None
    revision: str | None = None
    zero_mode: str | None = None
    fp4_layers: tuple[int, ...] = ()
    fp4_split: bool | None = None
    expected_bytes: int | None = None
    hole_layers: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing_layers(self) -> tuple[int, ...]:
        """Layers of the model that are not there; empty when the number of layers is unknown."""
        return tuple(sorted(set(range(self.n_layers or 0)) - set(self.layers)))

    @property
    def whole(self) -> bool:
        """Whether nothing speaks against it; contents are not looked at."""
        return not (self.problems or self.hole_layers or self.missing_layers or not self.layers)
