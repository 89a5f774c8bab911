"""Makes planes from a checkpoint on the fly: every section, of any rank."""

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np

from moet_boot.planes.checkpoint import Checkpoint, TensorSpan
from moet_boot.planes.code_packer import CodePacker
from moet_boot.planes.direct_io import AlignedBuffer, unreadable
from moet_boot.planes.geometry import ALIGN
from moet_boot.planes.layout import pack_fp4, pack_quintal, pack_scales
from moet_boot.planes.quantize import Bytes
from moet_boot.planes.slot_source import BASE_SECTIONS, FP4_SECTIONS, SPLIT_SECTIONS, Origin, Sections
from moet_boot.planes.slots import Expert, expert_shapes

Maker = Callable[[Expert], Bytes]


class CheckpointSource:
    """The experts of a checkpoint as a source of planes.

    Opening checks names, shapes and sizes of all expert tensors; raises the artefact errors and UsageError for ranks.
    """

    def __init__(self, folder: Path, *, world: int = 1, rank: int = 0) -> None:
        self.path = folder
        self._checkpoint = Checkpoint(folder).__enter__()
        self._checkpoint.require_written()
        self.geometry = self._checkpoint.geometry.with_tp(world)
        self.exact, self.world, self.rank = True, world, rank
        self.layers = tuple(range(self.geometry.n_layers))
        self.sections: tuple[str, ...] = (*BASE_SECTIONS, *FP4_SECTIONS, *SPLIT_SECTIONS)
        self.origin = Origin(index_sha256=self._checkpoint.index_sha256)
        self._makers = _makers(CodePacker(max(self.geometry.hidden, self.geometry.inter)))
        self._shapes = expert_shapes(self.geometry.hidden, self.geometry.inter)
        self._buffers = {
            name: AlignedBuffer(rows * columns + 2 * ALIGN) for name, (rows, columns) in self._shapes.items()
        }

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        whole = self._expert(layer * self.geometry.n_experts + expert)
        mine = whole.for_rank(self.rank, self.geometry) if self.world > 1 else whole
        return {name: self._makers[name](mine).data for name in wanted}

    def close(self) -> None:
        """See SlotSource."""
        self._checkpoint.__exit__(None, None, None)

    def _expert(self, slot: int) -> Expert:
        spans = self._checkpoint.expert(slot)
        return Expert(**{name: self._read(name, getattr(spans, name)) for name in self._shapes})

    def _read(self, name: str, span: TensorSpan) -> Bytes:
        try:
            data = span.shard.read(self._buffers[name], span.offset, span.size)
        except OSError as error:
            raise unreadable(span.shard.path, error) from error
        return np.frombuffer(data, dtype=np.uint8).reshape(self._shapes[name])


def _makers(packer: CodePacker) -> dict[str, Maker]:
    """How each section comes out of an expert."""

    def codes(w_packed: Bytes) -> Bytes:
        plane = np.empty(w_packed.size // 2, dtype=np.uint8)
        packer.pack(w_packed, plane)
        return plane

    return {
        "codes13": lambda expert: codes(expert.w13),
        "sc13": lambda expert: pack_scales(expert.w13_scale),
        "codes2": lambda expert: codes(expert.w2),
        "sc2": lambda expert: pack_scales(expert.w2_scale),
        "fp13": lambda expert: pack_fp4(expert.w13),
        "fp2": lambda expert: pack_fp4(expert.w2),
        "q13": lambda expert: pack_quintal(expert.w13),
        "q2": lambda expert: pack_quintal(expert.w2),
    }
