"""The loader skip, forecast: the server's decision for every layer, and what follows from it (planes.md f).

Pure: everything it looks at is in `SkipFacts`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.planes import skip_memory
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.pack_gates import Gate, PackFacts, probe, store_open
from moet_boot.planes.planes_cache import cache_hit
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause, Miss
from moet_boot.planes.skip_dangers import FIX_ABORT, FIX_REBUILD, abort_danger, cache_danger, pack_danger
from moet_boot.planes.skip_diagnosis import why_no_cache, why_no_pack
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.planes.skip_memory import SkipMemory
from moet_boot.planes.w2_settings import W2Settings

_LAYER = re.compile(r"\.layers\.(\d+)\.")


class Source(StrEnum):
    """Where a layer's planes come from."""

    CACHE = "planes-cache"
    PACK = "pack"


class Verdict(StrEnum):
    """All layers of the model together."""

    HIT = "hit"
    MISS = "miss"
    PARTIAL = "partial"
    BOOT_ABORT = "boot_abort"


@dataclass(frozen=True)
class LayerForecast:
    """One layer. `skip` is decided when its parameters are created, `served` when its planes are built.

    A skip that is not served is an aborted boot. `source` is the store that the server looks into.
    """

    layer: int
    w2: bool
    skip: bool
    source: Source | None
    served: bool
    cause: Cause | None = None
    reason: str | None = None
    fix: str | None = None
    danger: str | None = None


@dataclass(frozen=True)
class SkipForecast:
    """What the server will do with every layer, and the memory it takes."""

    server: ServerVersion
    layers: tuple[LayerForecast, ...]
    memory: SkipMemory

    @property
    def verdict(self) -> Verdict:
        """`boot_abort` as soon as one layer is skipped and not served."""
        if any(layer.skip and not layer.served for layer in self.layers):
            return Verdict.BOOT_ABORT
        skipped = sum(layer.skip for layer in self.layers)
        if skipped == len(self.layers):
            return Verdict.HIT
        return Verdict.PARTIAL if skipped else Verdict.MISS

    @property
    def missed(self) -> tuple[LayerForecast, ...]:
        """Layers that are staged in host RAM."""
        return tuple(layer for layer in self.layers if layer.w2 and not layer.skip)

    @property
    def endangered(self) -> tuple[LayerForecast, ...]:
        """Layers whose skip fires and should not."""
        return tuple(layer for layer in self.layers if layer.danger)


def is_w2_layer(module: str, main_layers: int, *, enabled: bool = True) -> bool:
    """Whether the experts of a module (`model.layers.3.ffn.experts`) take the 2-bit path (f.2)."""
    match = _LAYER.search(module)
    return enabled and "mtp" not in module and match is not None and int(match[1]) < main_layers


def forecast(facts: SkipFacts) -> SkipForecast:
    """The server's decisions over these facts."""
    layers = tuple(_forecast_layer(facts, layer) for layer in range(facts.geometry.n_layers))
    filling = _filling(facts, layers) if facts.settings.enabled else ()
    return _with_memory(facts.settings, facts.geometry, layers, filling)


def forecast_from_summary(
    settings: W2Settings, geometry: Geometry, *, planes_cache: bool, pack_store: bool
) -> SkipForecast:
    """The forecast when all that is known of each store is whether it is complete for this boot.

    Nothing is known about identities then: a complete store counts as one that the server accepts.
    """
    configured = settings.store_dir if settings.base_cache else settings.planes_cache
    complete = pack_store if settings.base_cache else planes_cache
    miss = None if configured and complete else _summary_miss(settings, configured)
    layers = tuple(_summary_layer(settings, geometry.n_layers, layer, miss) for layer in range(geometry.n_layers))
    filling = () if pack_store or not settings.enabled else _tier_tags(settings)
    return _with_memory(settings, geometry, layers, filling)


def store_accepts(facts: SkipFacts, tag: SlotKind = SlotKind.BASE) -> tuple[bool, ...]:
    """Which layers the pack store trusts when the server opens it."""
    gate = _gate(facts, tag, opened=True)
    return tuple(gate.has(layer) for layer in range(facts.geometry.n_layers))


def cache_serves(facts: SkipFacts) -> tuple[bool, ...]:
    """Which layers the planes cache would load, whether or not it is asked."""
    return tuple(_cache_has(facts, layer) for layer in range(facts.geometry.n_layers))


def _forecast_layer(facts: SkipFacts, layer: int) -> LayerForecast:
    if other := _no_w2(facts.settings, facts.geometry.n_layers, layer):
        return _missed(layer, other)
    if facts.expert_dtype != "fp4":
        return _missed(layer, Miss(Cause.FP8_EXPERTS, f"config.json says expert_dtype {facts.expert_dtype!r}"), w2=True)
    return _over_packs(facts, layer) if facts.settings.base_cache else _over_cache(facts, layer)


def _no_w2(settings: W2Settings, config_layers: int, layer: int) -> Miss | None:
    """Why a layer does not take the 2-bit path at all."""
    main = config_layers if settings.num_layers is None else settings.num_layers
    if not settings.enabled:
        return Miss(Cause.MASTER_OFF, "and is not")
    if not is_w2_layer(f"model.layers.{layer}.ffn.experts", main):
        return Miss(Cause.NUM_LAYERS, f"VLLM_MOE_W2_NUM_LAYERS={main} and the model has {config_layers}")
    if settings.exl3:
        return Miss(Cause.EXL3, "VLLM_MOE_W2_EXL3_BASE=1")
    return None


def _over_cache(facts: SkipFacts, layer: int) -> LayerForecast:
    if not _cache_has(facts, layer):
        return _missed(layer, why_no_cache(facts, layer), w2=True)
    return _skipped(layer, Source.CACHE, cache_danger(facts, layer))


def _over_packs(facts: SkipFacts, layer: int) -> LayerForecast:
    opened = {tag: _gate(facts, tag, opened=True) for tag in facts.pack_tags}
    for tag in facts.pack_tags:
        gate = _gate(facts, tag, opened=False)
        if not gate.has(layer):
            miss = why_no_pack(facts, tag, layer, gate)
            source = Source.PACK if facts.store else None
            return _missed(layer, miss, w2=True, source=source, served=opened[SlotKind.BASE].has(layer))
    for tag, gate in opened.items():
        if not gate.has(layer):
            abort = abort_danger(tag, gate)
            return LayerForecast(layer, True, True, Source.PACK, served=False, danger=abort, fix=FIX_ABORT)
    dangers = (pack_danger(facts, tag, layer) for tag in facts.pack_tags)
    return _skipped(layer, Source.PACK, next((danger for danger in dangers if danger), None))


def _missed(
    layer: int, miss: Miss, *, w2: bool = False, source: Source | None = None, served: bool = False
) -> LayerForecast:
    return LayerForecast(
        layer, w2, skip=False, source=source, served=served, cause=miss.cause, reason=miss.reason, fix=miss.fix
    )


def _summary_layer(settings: W2Settings, config_layers: int, layer: int, miss: Miss | None) -> LayerForecast:
    if other := _no_w2(settings, config_layers, layer):
        return _missed(layer, other)
    if miss:
        return _missed(layer, miss, w2=True)
    return _skipped(layer, Source.PACK if settings.base_cache else Source.CACHE)


def _summary_miss(settings: W2Settings, configured: str | None) -> Miss:
    if configured:
        return Miss(Cause.INCOMPLETE, f"{configured} is not complete")
    if settings.base_cache:
        return Miss(Cause.NO_STORE, "VLLM_MOE_W2_STORE_DIR is unset")
    return Miss(Cause.FOLDER, "VLLM_MOE_W2_PLANES_CACHE is unset")


def _skipped(layer: int, source: Source, danger: str | None = None) -> LayerForecast:
    fix = FIX_REBUILD if danger else None
    return LayerForecast(layer, w2=True, skip=True, source=source, served=True, danger=danger, fix=fix)


def _gate(facts: SkipFacts, tag: SlotKind, *, opened: bool) -> Gate:
    pack: PackFacts | None = facts.packs.get(tag)
    if pack is None:
        return Gate((), ("sidecar",))
    look = store_open if opened else probe
    return look(pack, facts.wanted_pack(tag), facts.server)


def _cache_has(facts: SkipFacts, layer: int) -> bool:
    if facts.cache is None or facts.ckpt_id is None:
        return False
    return cache_hit(facts.cache, layer, facts.wanted_cache.meta(facts.server), facts.part_sizes)


def _tier_tags(settings: W2Settings) -> tuple[SlotKind, ...]:
    base = (SlotKind.BASE,) if settings.base_cache else ()
    return (*base, settings.fp4_tag) if settings.fp4_tier else base


def _filling(facts: SkipFacts, layers: Sequence[LayerForecast]) -> tuple[SlotKind, ...]:
    """The packs that this boot has to write because they lack a layer."""
    wanted = [layer.layer for layer in layers if layer.w2]
    gates = {tag: _gate(facts, tag, opened=True) for tag in _tier_tags(facts.settings)}
    return tuple(tag for tag, gate in gates.items() if not all(gate.has(layer) for layer in wanted))


def _with_memory(
    settings: W2Settings, geometry: Geometry, layers: tuple[LayerForecast, ...], filling: Sequence[SlotKind]
) -> SkipForecast:
    w2 = sum(layer.w2 for layer in layers)
    missed = sum(layer.w2 and not layer.skip for layer in layers)
    from_cache = any(layer.skip and layer.source is Source.CACHE for layer in layers)
    per_layer = skip_memory.layer_parameter_bytes(geometry)
    memory = SkipMemory(
        staged_bytes=missed * per_layer,
        cache_read_bytes=skip_memory.cache_layer_bytes(geometry, settings) if from_cache else 0,
        stores_bytes=skip_memory.store_bytes(geometry, settings, w2),
        write_buffer_bytes=skip_memory.write_buffer_bytes(geometry, settings, filling),
        gpu_layer_bytes=per_layer if w2 else 0,
    )
    return SkipForecast(settings.server, layers, memory)
