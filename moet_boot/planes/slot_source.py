"""One way to read planes, whatever container they lie in: slot by slot, section by section."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.server_version import ServerVersion

Sections = Mapping[str, memoryview]
"""Section name (`codes13`, `fp2`, ...) -> its bytes; valid until the source reads the next slot."""

BASE_SECTIONS = ("codes13", "sc13", "codes2", "sc2")
FP4_SECTIONS = ("fp13", "fp2")
SPLIT_SECTIONS = ("q13", "q2")
_NEVER_ZERO = (("codes13",), ("codes2",), FP4_SECTIONS, SPLIT_SECTIONS)
# a slot's first bytes decide nearly always; only when they are zero the rest is looked at
_PROBE_BYTES = 64


@dataclass(frozen=True)
class Origin:
    """Who the planes say they were made for; None where the container does not say."""

    server: ServerVersion | None = None
    ckpt_id: str | None = None
    zero_mode: str | None = None
    repo: str | None = None
    revision: str | None = None
    index_sha256: bytes | None = None


class SlotSource(Protocol):
    """Planes of one rank.

    `exact` is false when the container leaves open how `hidden` and `inter` share their product: sections
    have the right sizes then, and the single numbers mean nothing.
    """

    path: Path
    geometry: Geometry
    exact: bool
    world: int
    rank: int
    layers: tuple[int, ...]
    sections: tuple[str, ...]
    origin: Origin

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """Some of its sections of one slot; raises ArtefactDamagedError when they cannot be read or are wrong."""

    def close(self) -> None:
        """Close its files."""


def cut(view: memoryview, geometry: Geometry, kind: SlotKind, wanted: Collection[str]) -> dict[str, memoryview]:
    """The wanted sections of a whole slot."""
    return {
        section.name: view[section.offset : section.offset + section.size]
        for section in geometry.sections(kind)
        if section.name in wanted
    }


def differing_sections(mine: Sections, theirs: Sections, names: Iterable[str]) -> tuple[str, ...]:
    """The sections in which two slots differ."""
    # bytes compare by memcmp, memoryviews element by element
    return tuple(name for name in names if bytes(mine[name]) != bytes(theirs[name]))


def require_written(sections: Sections, path: Path, layer: int, expert: int) -> None:
    """Raise ArtefactDamagedError for weights that are all zero bytes: a hole that was never written (c.8)."""
    for names in _NEVER_ZERO:
        views = [sections[name] for name in names if name in sections]
        if views and all(_all_zero(view) for view in views):
            raise ArtefactDamagedError(
                f"{path}: layer {layer} expert {expert} is all zeros in {', '.join(names)}: it was never written",
                fix="make or download this artefact again",
            )


def _all_zero(view: memoryview) -> bool:
    return not any(view[:_PROBE_BYTES]) and bytes(view).count(0) == len(view)
