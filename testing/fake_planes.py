"""Planes out of thin air: every section of every slot has its own repeatable bytes."""

import random
from collections.abc import Collection
from pathlib import Path

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.slot_source import BASE_SECTIONS, FP4_SECTIONS, SPLIT_SECTIONS, Origin, Sections
from moet_boot.planes.slot_target import SlotTarget

TINY = Geometry(n_layers=2, n_experts=3, hidden=64, inter=64)
UNEVEN = Geometry(n_layers=1, n_experts=2, hidden=192, inter=64)
"""A geometry whose sections are no multiples of 4096 and whose slots need padding."""


def section_bytes(geometry: Geometry, layer: int, expert: int, name: str) -> bytes:
    """The bytes of one section; the first is never zero."""
    dice = random.Random(f"{layer} {expert} {name}")  # noqa: S311  (test data)
    return b"\x01" + dice.randbytes(geometry.section_bytes(name) - 1)


class FakeSource:
    """A SlotSource without a file."""

    def __init__(
        self,
        geometry: Geometry = TINY,
        *,
        sections: tuple[str, ...] = (*BASE_SECTIONS, *FP4_SECTIONS, *SPLIT_SECTIONS),
        layers: tuple[int, ...] | None = None,
        rank: int = 0,
        origin: Origin | None = None,
        exact: bool = True,
    ) -> None:
        self.path = Path("fake-planes")
        self.geometry, self.exact = geometry, exact
        self.world, self.rank = geometry.tp, rank
        self.layers = tuple(range(geometry.n_layers)) if layers is None else layers
        self.sections = sections
        self.origin = origin or Origin()

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        return {name: memoryview(section_bytes(self.geometry, layer, expert, name)) for name in wanted}

    def close(self) -> None:
        """Nothing is open."""


def fill(target: SlotTarget, source: FakeSource) -> list[Path]:
    """Write all slots of a source into a target and publish it."""
    target.claim()
    target.start()
    for layer in source.layers:
        for expert in range(source.geometry.n_experts):
            target.put(layer, expert, source.slot(layer, expert, target.needs))
    target.seal()
    return target.publish()


def slot_of(geometry: Geometry, kind: SlotKind, layer: int, expert: int) -> bytes:
    """The bytes of one whole slot."""
    names = (section.name for section in geometry.sections(kind))
    return b"".join(section_bytes(geometry, layer, expert, name) for name in names)
