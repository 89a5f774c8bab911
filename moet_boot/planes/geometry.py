"""The sizes of plane artefacts, all derived from five numbers of the model (planes.md a.3, a.4, c.1, d.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from moet_boot.errors import ArtefactDamagedError, UsageError

ALIGN = 4096
SCALE_BLOCK = 32
MAX_DIMENSION = 1 << 24
MAX_SLOTS = 1 << 17  # the published model has 11008; lists of more would fill the memory
CONFIG_KEYS = {
    "n_layers": "num_hidden_layers",
    "n_experts": "n_routed_experts",
    "hidden": "hidden_size",
    "inter": "moe_intermediate_size",
}


class SlotKind(StrEnum):
    """What one expert's slot holds (c.8); the names are the pack store's tags (d.1)."""

    BASE = "base"
    DELTA = "delta"
    FP4 = "fp4"
    FP4Q = "fp4q"


_SECTIONS = {
    SlotKind.BASE: ("codes13", "sc13", "codes2", "sc2"),
    SlotKind.DELTA: ("fp13", "fp2"),
    SlotKind.FP4: ("fp13", "sc13", "fp2", "sc2"),
    SlotKind.FP4Q: ("q13", "q2"),
}


@dataclass(frozen=True)
class Section:
    """A named run of bytes inside a slot."""

    name: str
    offset: int
    size: int


def align_up(size: int, align: int = ALIGN) -> int:
    """`size` rounded up to a multiple of `align`."""
    return -(-size // align) * align


@dataclass(frozen=True)
class Geometry:
    """A model's expert geometry as one tensor-parallel rank sees it.

    `hidden` and `inter` are the model's own (unsplit) sizes; `tp` ranks share `inter`. Sizes are bytes.
    Raises UsageError when the kernels' layout cannot hold these shapes (N % 16 == 0, K % 64 == 0, c.1).
    """

    n_layers: int
    n_experts: int
    hidden: int
    inter: int
    tp: int = 1

    def __post_init__(self) -> None:
        for name in ("n_layers", "n_experts", "hidden", "inter", "tp"):
            _require_dimension(name, getattr(self, name))
        if self.n_slots > MAX_SLOTS:
            raise _illegal(f"{self.n_layers} layers of {self.n_experts} experts are more than any model has")
        if self.hidden % 64:
            raise _illegal(f"hidden size {self.hidden} is not a multiple of 64")
        if self.inter % self.tp or self.inter_rank % 64:
            raise _illegal(f"expert intermediate size {self.inter} over {self.tp} rank(s) is not a multiple of 64 each")

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, tp: int = 1) -> Self:
        """Read the geometry from a checkpoint's config.json.

        Raises ArtefactDamagedError for a missing or impossible value, and for experts that are not MXFP4 (a.1);
        UsageError when `tp` ranks cannot share this model.
        """
        dtype = config.get("expert_dtype", "fp4")
        if dtype != "fp4":
            raise ArtefactDamagedError(
                f"config.json says expert_dtype {dtype!r}; planes are made from fp4 experts only",
                fix="use the DeepSeek-V4-Flash checkpoint with MXFP4 experts",
            )
        if config.get("first_k_dense_replace"):
            raise ArtefactDamagedError(
                "config.json has dense layers (first_k_dense_replace); every layer must have experts",
                fix="use the DeepSeek-V4-Flash checkpoint",
            )
        try:
            model = cls(**{name: _require_dimension(key, config.get(key)) for name, key in CONFIG_KEYS.items()})
        except UsageError as error:
            raise ArtefactDamagedError(error.what, fix=error.fix) from error
        return model.with_tp(tp)

    @property
    def inter_rank(self) -> int:
        """Intermediate size of one rank."""
        return self.inter // self.tp

    @property
    def n_slots(self) -> int:
        """Slots of all layers that are written."""
        return self.n_layers * self.n_experts

    @property
    def weights13(self) -> int:
        """Weights of the fused gate and up matrix [2 * inter_rank, hidden]."""
        return 2 * self.inter_rank * self.hidden

    @property
    def weights2(self) -> int:
        """Weights of the down matrix [hidden, inter_rank]."""
        return self.hidden * self.inter_rank

    @property
    def codes13_bytes(self) -> int:
        return self.weights13 // 4

    @property
    def sc13_bytes(self) -> int:
        return self.weights13 // SCALE_BLOCK

    @property
    def codes2_bytes(self) -> int:
        return self.weights2 // 4

    @property
    def sc2_bytes(self) -> int:
        return self.weights2 // SCALE_BLOCK

    @property
    def fp13_bytes(self) -> int:
        return self.weights13 // 2

    @property
    def fp2_bytes(self) -> int:
        return self.weights2 // 2

    @property
    def q13_bytes(self) -> int:
        return self.weights13 * 5 // 16

    @property
    def q2_bytes(self) -> int:
        return self.weights2 * 5 // 16

    @property
    def slot_bytes(self) -> int:
        """Bytes of a 2-bit slot."""
        return self.bytes_of(SlotKind.BASE)

    @property
    def slot_stride(self) -> int:
        """Distance between 2-bit slots in a file."""
        return self.stride_of(SlotKind.BASE)

    @property
    def checkpoint_expert_bytes(self) -> int:
        """Bytes of one expert's six tensors in the checkpoint (for one rank)."""
        return self.bytes_of(SlotKind.FP4)

    def bytes_of(self, kind: SlotKind) -> int:
        """Bytes of one slot of this kind, without padding."""
        return sum(self.section_bytes(name) for name in _SECTIONS[kind])

    def stride_of(self, kind: SlotKind) -> int:
        """Bytes from one slot of this kind to the next (4096-aligned)."""
        return align_up(self.bytes_of(kind))

    def section_bytes(self, name: str) -> int:
        """Bytes of one section, e.g. `codes13`."""
        size: int = getattr(self, f"{name}_bytes")
        return size

    def sections(self, kind: SlotKind = SlotKind.BASE) -> tuple[Section, ...]:
        """List the sections of a slot in their order, without gaps (c.8)."""
        found: list[Section] = []
        offset = 0
        for name in _SECTIONS[kind]:
            found.append(Section(name, offset, self.section_bytes(name)))
            offset += self.section_bytes(name)
        return tuple(found)

    def with_tp(self, tp: int) -> Self:
        """Split the same model over `tp` ranks."""
        return replace(self, tp=tp)


def _require_dimension(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_DIMENSION:
        raise _illegal(f"{name} is {value!r}, expected a whole number from 1 to {MAX_DIMENSION}")
    return value


def _illegal(what: str) -> UsageError:
    what = f"no plane layout exists for this geometry: {what}"
    return UsageError(what, fix="check config.json of the checkpoint")


DS4_FLASH = Geometry(n_layers=43, n_experts=256, hidden=4096, inter=2048)
