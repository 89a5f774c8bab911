"""One thread's tools to read experts and pack them into 2-bit slots, with buffers that are reused."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.checkpoint import Checkpoint, TensorSpan
from moet_boot.planes.code_packer import CodePacker
from moet_boot.planes.direct_io import AlignedBuffer, unreadable
from moet_boot.planes.geometry import ALIGN
from moet_boot.planes.quantize import Bytes


class SlotBuilder:
    """Builds slots of one checkpoint; holds one tensor and one slot in memory.

    `turn` is entered to pack a matrix and left to read the next. Raises ArtefactDamagedError when a tensor
    cannot be read.
    """

    def __init__(self, checkpoint: Checkpoint, turn: AbstractContextManager[object] | None = None) -> None:
        self._turn = turn or nullcontext()
        geometry = checkpoint.geometry
        self._checkpoint = checkpoint
        self._tensor = AlignedBuffer(max(geometry.fp2_bytes, geometry.fp13_bytes // 2) + 2 * ALIGN)
        self.buffer = AlignedBuffer(geometry.slot_stride)
        self._slot: Bytes = np.frombuffer(self.buffer.view, dtype=np.uint8)
        self._packer = CodePacker(max(geometry.hidden, geometry.inter))

    def build(self, slot: int) -> memoryview:
        """Pack one expert; the view, padded to the stride, is good until the next call."""
        geometry, expert = self._checkpoint.geometry, self._checkpoint.expert(slot)
        hidden, inter = geometry.hidden, geometry.inter
        end = 0
        for span, columns in ((expert.w1, hidden), (expert.w3, hidden)):
            end = self._pack_codes(span, columns, end)
        for span, columns in ((expert.w1_scale, hidden), (expert.w3_scale, hidden)):
            end = self._pack_scales(span, columns, end)
        end = self._pack_codes(expert.w2, inter, end)
        end = self._pack_scales(expert.w2_scale, inter, end)
        self._slot[end:] = 0
        self._require_scales(slot)
        return self.buffer.view[: geometry.slot_stride]

    def _require_scales(self, slot: int) -> None:
        """Zeros all over are what a copy or download leaves where it never came to (c.8)."""
        for section in self._checkpoint.geometry.sections():
            if section.name in {"sc13", "sc2"} and not self._slot[section.offset :][: section.size].any():
                path = self._checkpoint.expert(slot).w2_scale.shard.path
                layer, expert = divmod(slot, self._checkpoint.geometry.n_experts)
                raise ArtefactDamagedError(
                    f"{path}: the scales of layer {layer} expert {expert} are all zero: they were never written",
                    fix="fetch this shard again",
                )

    def _pack_codes(self, span: TensorSpan, columns: int, start: int) -> int:
        end = start + span.size // 2
        w_packed = self._read(span, columns // 2)
        with self._turn:
            self._packer.pack(w_packed, self._slot[start:end])
        return end

    def _pack_scales(self, span: TensorSpan, columns: int, start: int) -> int:
        scales = self._read(span, columns // 32)
        rows, width = scales.shape
        end = start + scales.size
        self._slot[start:end].reshape(rows // 16, width, 16)[:] = scales.reshape(-1, 16, width).transpose(0, 2, 1)
        return end

    def _read(self, span: TensorSpan, width: int) -> Bytes:
        try:
            data = span.shard.read(self._tensor, span.offset, span.size)
        except OSError as error:
            raise unreadable(span.shard.path, error) from error
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
