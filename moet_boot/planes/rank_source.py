"""One rank's part of whole planes: a tensor-parallel split is a re-slicing of the same bytes (planes.md a.3, c)."""

from collections.abc import Collection

from moet_boot.errors import UsageError
from moet_boot.planes.slot_source import Sections, SlotSource

ROWS_OF_A_BLOCK = 16


class RankSource:
    """The planes that rank `rank` of `world` has of a source that holds whole experts; see SlotSource.

    Raises UsageError when the source holds a part already, or when this model cannot be shared so.
    """

    def __init__(self, whole: SlotSource, world: int, rank: int) -> None:
        if whole.world > 1:
            raise UsageError(
                f"{whole.path.name} holds rank {whole.rank} of {whole.world} already; only whole planes can be split",
                fix="convert from a plane file, or from a pack or cache of one rank",
            )
        if not whole.exact:
            raise UsageError(
                f"{whole.path.name} does not say hidden and intermediate size, without which nothing can be split",
                fix="give --checkpoint with the model's config.json",
            )
        self._whole = whole
        self.geometry = whole.geometry.with_tp(world)
        self.path = whole.path
        self.exact, self.world, self.rank = True, world, rank
        self.layers, self.sections = whole.layers, whole.sections
        self.origin = whole.origin

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        whole = self._whole.slot(layer, expert, wanted)
        return {name: self._mine(name, view) for name, view in whole.items()}

    def close(self) -> None:
        """See SlotSource."""
        self._whole.close()

    def _mine(self, name: str, view: memoryview) -> memoryview:
        """This rank's rows of w1 and of w3, or its columns in each block of rows of w2.

        Planes are ordered by blocks of 16 rows and then by columns, so that either is a run of bytes.
        """
        runs = 2 if name.endswith("13") else self.geometry.hidden // ROWS_OF_A_BLOCK
        run = len(view) // runs
        size = run // self.world
        starts = range(self.rank * size, len(view), run)
        return memoryview(b"".join(view[start : start + size] for start in starts))
