"""One expert of a checkpoint as a slot of each kind (planes.md a.2, a.3, c.8)."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.layout import pack_codes, pack_fp4, pack_quintal, pack_scales
from moet_boot.planes.quantize import Bytes, codes_from_packed


@dataclass(frozen=True)
class Expert:
    """The six tensors of one routed expert, raw: w1, w3 [I, H/2], w2 [H, I/2], scales as wide as K/32."""

    w1: Bytes
    w3: Bytes
    w2: Bytes
    w1_scale: Bytes
    w3_scale: Bytes
    w2_scale: Bytes

    def __post_init__(self) -> None:
        inter, hidden = self.w1.shape[0], self.w2.shape[0]
        for name, shape in expert_shapes(hidden, inter).items():
            found = getattr(self, name)
            if found.shape != shape or found.dtype != np.uint8:
                raise UsageError(f"expert tensor {name}: {found.dtype} {found.shape}, expected uint8 {shape}")

    @property
    def w13(self) -> Bytes:
        """Rows of w1, then rows of w3: [2I, H/2]."""
        return np.concatenate((self.w1, self.w3))

    @property
    def w13_scale(self) -> Bytes:
        """Scales of `w13`: [2I, H/32]."""
        return np.concatenate((self.w1_scale, self.w3_scale))

    def for_rank(self, rank: int, geometry: Geometry) -> Self:
        """Cut out what one tensor-parallel rank holds: rows of w1 and w3, columns of w2 (a.3)."""
        inter = geometry.inter_rank
        rows = slice(rank * inter, (rank + 1) * inter)
        return type(self)(
            w1=self.w1[rows],
            w3=self.w3[rows],
            w2=self.w2[:, rows.start // 2 : rows.stop // 2],
            w1_scale=self.w1_scale[rows],
            w3_scale=self.w3_scale[rows],
            w2_scale=self.w2_scale[:, rows.start // 32 : rows.stop // 32],
        )


def expert_shapes(hidden: int, inter: int) -> dict[str, tuple[int, int]]:
    """Give the shape in bytes of each of an expert's tensors."""
    return {
        "w1": (inter, hidden // 2),
        "w3": (inter, hidden // 2),
        "w2": (hidden, inter // 2),
        "w1_scale": (inter, hidden // 32),
        "w3_scale": (inter, hidden // 32),
        "w2_scale": (hidden, inter // 32),
    }


def slot_2bit(expert: Expert) -> Bytes:
    """codes13 | sc13 | codes2 | sc2."""
    return np.concatenate(
        (
            pack_codes(codes_from_packed(expert.w13)),
            pack_scales(expert.w13_scale),
            pack_codes(codes_from_packed(expert.w2)),
            pack_scales(expert.w2_scale),
        )
    )


def slot_delta(expert: Expert) -> Bytes:
    """fp13 | fp2."""
    return np.concatenate((pack_fp4(expert.w13), pack_fp4(expert.w2)))


def slot_fp4(expert: Expert) -> Bytes:
    """fp13 | sc13 | fp2 | sc2."""
    return np.concatenate(
        (
            pack_fp4(expert.w13),
            pack_scales(expert.w13_scale),
            pack_fp4(expert.w2),
            pack_scales(expert.w2_scale),
        )
    )


def slot_fp4q(expert: Expert) -> Bytes:
    """q13 | q2."""
    return np.concatenate((pack_quintal(expert.w13), pack_quintal(expert.w2)))


SLOT_BUILDERS = {
    SlotKind.BASE: slot_2bit,
    SlotKind.DELTA: slot_delta,
    SlotKind.FP4: slot_fp4,
    SlotKind.FP4Q: slot_fp4q,
}
