"""`diff_planes`: do two artefacts hold the same planes, whatever container they are in."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.open_source import open_source
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.slot_source import SlotSource, differing_sections


@dataclass(frozen=True)
class SlotDifference:
    """One slot that is not the same; `reason` when one side could not be read or fails its own digest."""

    layer: int
    expert: int
    sections: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True)
class PlanesDiff:
    """The outcome. `shape` says why nothing could be compared; sections in one artefact only do not count."""

    a: Path
    b: Path
    sections: tuple[str, ...] = ()
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    layers_only_in_a: tuple[int, ...] = ()
    layers_only_in_b: tuple[int, ...] = ()
    slots: int = 0
    differing: tuple[SlotDifference, ...] = ()
    shape: str | None = None

    @property
    def same(self) -> bool:
        """Whether both hold the same layers with the same bytes in every section that both have."""
        return not (self.shape or self.differing or self.layers_only_in_a or self.layers_only_in_b)


def diff_planes(a: Path, b: Path, hint: Geometry | None = None, on_progress: Progress = no_progress) -> PlanesDiff:
    """Compare two artefacts slot by slot, reading past the page cache, going on to the end.

    Raises the artefact errors and UsageError when one of them cannot be opened at all.
    """
    with closing(_open(a, hint, other=b)) as first, closing(_open(b, hint, other=a)) as second:
        shape = _shape_difference(first, second)
        if shape:
            return PlanesDiff(a, b, shape=shape)
        sections = tuple(name for name in first.sections if name in second.sections)
        layers = [layer for layer in first.layers if layer in second.layers]
        return PlanesDiff(
            a,
            b,
            sections=sections,
            only_in_a=tuple(name for name in first.sections if name not in sections),
            only_in_b=tuple(name for name in second.sections if name not in sections),
            layers_only_in_a=tuple(sorted(set(first.layers) - set(layers))),
            layers_only_in_b=tuple(sorted(set(second.layers) - set(layers))),
            slots=len(layers) * first.geometry.n_experts,
            differing=tuple(_differences(first, second, layers, sections, on_progress)),
        )


def _open(path: Path, hint: Geometry | None, *, other: Path) -> SlotSource:
    """Open one side; what it leaves open about its geometry may be known to the other side."""
    try:
        return open_source(path, hint)
    except UsageError:
        if hint is not None:
            raise
        try:
            with closing(open_source(other)) as source:
                hint = source.geometry
        except UsageError:
            hint = None
        return open_source(path, hint)


def _shape_difference(a: SlotSource, b: SlotSource) -> str | None:
    if (a.world, a.rank) != (b.world, b.rank):
        return f"rank {a.rank} of {a.world} against rank {b.rank} of {b.world}"
    if a.geometry.n_experts != b.geometry.n_experts:
        return f"{a.geometry.n_experts} experts a layer against {b.geometry.n_experts}"
    sizes = a.geometry.slot_bytes, b.geometry.slot_bytes
    if sizes[0] != sizes[1]:
        return f"slots of {sizes[0]} bytes against {sizes[1]}"
    if a.exact and b.exact and a.geometry.hidden != b.geometry.hidden:
        return f"hidden size {a.geometry.hidden} against {b.geometry.hidden}"
    if not set(a.sections) & set(b.sections):
        return f"no section in common: {', '.join(a.sections)} against {', '.join(b.sections)}"
    return None


def _differences(
    a: SlotSource, b: SlotSource, layers: list[int], sections: tuple[str, ...], on_progress: Progress
) -> Iterator[SlotDifference]:
    experts = a.geometry.n_experts
    size = sum(a.geometry.section_bytes(name) for name in sections)
    for done, slot in enumerate((layer, expert) for layer in layers for expert in range(experts)):
        found = _compare(a, b, *slot, sections)
        if found:
            yield found
        on_progress((done + 1) * size, len(layers) * experts * size)


def _compare(a: SlotSource, b: SlotSource, layer: int, expert: int, sections: tuple[str, ...]) -> SlotDifference | None:
    try:
        mine, theirs = a.slot(layer, expert, sections), b.slot(layer, expert, sections)
    except ArtefactDamagedError as failure:
        return SlotDifference(layer, expert, (), failure.what)
    differing = differing_sections(mine, theirs, sections)
    return SlotDifference(layer, expert, differing) if differing else None
