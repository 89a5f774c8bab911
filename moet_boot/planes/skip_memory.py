"""Host and GPU memory that follows from skips and misses, in bytes (planes.md d.6, f.5). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.pack_store import PackShape
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.units import GIB

AUTO_RAM_SHARE = 0.25
MIN_ARENA_SLOTS = 16


@dataclass(frozen=True)
class SkipMemory:
    """What a boot with these skips holds, in bytes.

    `staged` is the host copy of every missed layer, held until the checkpoint is loaded; `cache_read` the
    one layer that passes through the host at a time on a hit; `stores` the tiers that stay in host RAM;
    `write_buffer` the pageable buffer of a pack that is being filled; `gpu_layer` one layer's parameters.
    """

    staged_bytes: int
    cache_read_bytes: int
    stores_bytes: int
    write_buffer_bytes: int
    gpu_layer_bytes: int

    @property
    def host_transient_bytes(self) -> int:
        """Host RAM needed during the load and free after it."""
        return self.staged_bytes + self.cache_read_bytes

    @property
    def resident_store_bytes(self) -> int:
        """Host RAM that the tiers keep."""
        return self.stores_bytes + self.write_buffer_bytes


def layer_parameter_bytes(geometry: Geometry) -> int:
    """One layer's expert parameters as the checkpoint has them (3.1875 GiB for DS4-Flash on one rank)."""
    return geometry.n_experts * geometry.checkpoint_expert_bytes


def cache_layer_bytes(geometry: Geometry, settings: W2Settings) -> int:
    """One layer of a planes cache on its way through the host."""
    fp4 = 0
    if settings.fp4_tier:
        fp4 = geometry.bytes_of(SlotKind.FP4Q if settings.split else SlotKind.DELTA)
    return geometry.n_experts * (geometry.slot_bytes + fp4)


def store_bytes(geometry: Geometry, settings: W2Settings, w2_layers: int) -> int:
    """Host RAM of the tiers' own rows: all of them without STORE_DIR, an arena at most with it (d.6)."""
    if not settings.enabled or not w2_layers:
        return 0
    if settings.store_dir is not None:
        return _arena_bytes(geometry, settings)
    rows = w2_layers * geometry.n_experts
    base = geometry.slot_bytes if settings.base_cache else 0
    fp4 = geometry.bytes_of(settings.fp4_slots) if settings.fp4_tier else 0
    return rows * (base + fp4)


def write_buffer_bytes(geometry: Geometry, settings: W2Settings, filling: Sequence[SlotKind]) -> int:
    """The buffers of packs that this boot has to fill; on DS4-Flash a process never gives them back."""
    if settings.store_dir is None:
        return 0
    return sum(geometry.n_experts * geometry.stride_of(_slots(settings, tag)) for tag in filling)


def _slots(settings: W2Settings, tag: SlotKind) -> SlotKind:
    return SlotKind.BASE if tag is SlotKind.BASE else settings.fp4_slots


def _arena_bytes(geometry: Geometry, settings: W2Settings) -> int:
    if not settings.base_cache or settings.base_ram is None:
        return 0
    shape = PackShape.of(geometry, SlotKind.BASE, layers=settings.num_layers)
    size = settings.base_ram.size_gib * GIB
    if settings.base_ram.auto:
        size = AUTO_RAM_SHARE * shape.file_bytes
    return max(int(size) // shape.stride, MIN_ARENA_SLOTS) * shape.stride
