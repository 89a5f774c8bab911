"""The parts of a boot's memory: the profile's, moved to what the plan asks for and the artefacts are."""

from moet_boot.forecast.asked import Asked
from moet_boot.forecast.facts import BootFacts
from moet_boot.forecast.model import KvRoom, Pool, Staging, Term
from moet_boot.forecast.staging import LAYER_BYTES, host_terms
from moet_boot.phases import Phase
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.pool_floors import delta_slots, pool_slots
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.profile.model import MemoryKind, Profile
from moet_boot.units import format_bytes, from_gib

DEFAULT_CONTEXT = 65_536
"""Tokens, where neither plan nor profile names a context: the window published for the Spark."""


def boot_terms(profile: Profile, wish: Asked, facts: BootFacts, staged: Staging | None) -> list[Term]:
    """Every part but the KV cache; a part that the plan or the artefacts decide replaces the profile's."""
    terms = {
        name: Term(name, from_gib(term.gib), term.pool, term.first, term.last, term.source)
        for name, term in profile.memory.terms.items()
    }
    moved = [*_dense(terms.get("dense_weights"), facts), *_graphs(profile, wish), *_drafts(profile, wish, terms)]
    if wish.w2 is not None:
        moved += _weights(wish.w2)
        moved += host_terms(wish.w2, facts, staged) if staged else []
    terms |= {term.name: term for term in moved}
    return [term for term in terms.values() if term.bytes > 0]


def kv_term(profile: Profile, wish: Asked, facts: BootFacts, others: list[Term]) -> tuple[Term, KvRoom] | None:
    """The KV cache as the plan sizes it, after all `others`; None for a profile without one."""
    budget = profile.memory.kv_cache
    if budget is None:
        return None
    context = wish.context_tokens or DEFAULT_CONTEXT
    one = round(context * budget.bytes_per_token)
    size, source = one, f"{context:,} tokens x {budget.bytes_per_token:,.0f} bytes"
    if wish.kv_bytes is not None:
        size, source = wish.kv_bytes, "as asked for, whatever the context"
    elif budget.sizing == "fixed" and budget.fixed_gib is not None:
        size, source = from_gib(budget.fixed_gib), budget.source
    elif budget.sizing == "utilization" and (granted := granted_bytes(profile, wish, facts)) is not None:
        held = sum(term.bytes for term in others if term.pool == "gpu" and term.last is Phase.SERVING)
        size = max(granted - held, 0)
        source = f"what is left of {format_bytes(granted)} (--gpu-memory-utilization {wish.utilization})"
    pool: Pool = "host" if profile.hardware.memory is MemoryKind.HOST else "gpu"
    return Term("kv_cache", size, pool, Phase.KV_CACHE, Phase.SERVING, source), KvRoom(size, one, context)


def granted_bytes(profile: Profile, wish: Asked, facts: BootFacts) -> int | None:
    """The share of the GPU's memory that --gpu-memory-utilization asks for; None if it asks for none."""
    gpu = profile.hardware.gpu
    if gpu is None or wish.utilization is None:
        return None
    unified = profile.hardware.memory is MemoryKind.UNIFIED
    total = facts.memory_total_bytes if unified else facts.gpu_total_bytes or gpu.memory_bytes
    return None if total is None else round(total * wish.utilization)


def _dense(term: Term | None, facts: BootFacts) -> list[Term]:
    if term is None or facts.checkpoint_bytes is None:
        return []
    experts = (DS4_FLASH.n_layers + 1) * LAYER_BYTES
    size = facts.checkpoint_bytes - experts
    if size <= term.bytes:
        return []
    source = f"the checkpoint on disk, {format_bytes(facts.checkpoint_bytes)}, less {format_bytes(experts)} of experts"
    return [Term(term.name, size, term.pool, term.first, term.last, source)]


def _graphs(profile: Profile, wish: Asked) -> list[Term]:
    size = from_gib(profile.memory.graph_estimate_gib)
    if not wish.graph_estimate or not size:
        return []
    source = "the engine's own estimate of its graphs, reserved while it is switched on"
    return [Term("graph_estimate", size, "gpu", Phase.PROFILING, Phase.SERVING, source)]


def _drafts(profile: Profile, wish: Asked, terms: dict[str, Term]) -> list[Term]:
    if not wish.draft_tokens or "mtp_experts" in terms or profile.engine.formats is None:
        return []
    source = "experts of the MTP layer, which have no planes (planes.md f.2)"
    return [Term("mtp_experts", LAYER_BYTES, "gpu", Phase.LOADING_WEIGHTS, Phase.SERVING, source)]


def _weights(settings: W2Settings) -> list[Term]:
    """Experts and pools on the GPU, as the environment asks for them (planes.md g.1, g.2)."""
    if not settings.enabled:
        size = DS4_FLASH.n_layers * LAYER_BYTES
        source = "VLLM_MOE_W2 is not 1: the experts load as the checkpoint has them (planes.md a.2)"
        return [
            Term("planes", size, "gpu", Phase.LOADING_WEIGHTS, Phase.SERVING, source),
            Term("fp4_pool", 0, "gpu", Phase.LOADING_WEIGHTS, Phase.SERVING, source),
        ]
    planes, source = DS4_FLASH.n_slots * DS4_FLASH.slot_bytes, "11,008 slots of 6.75 MiB, all resident"
    if settings.base_cache:
        planes = pool_slots(settings.base_cache_gib, DS4_FLASH.slot_bytes) * DS4_FLASH.slot_bytes
        source = f"VLLM_MOE_W2_BASE_CACHE_GB={settings.base_cache_gib:g}: a pool over planes that stay on the host"
    return [Term("planes", planes, "gpu", Phase.PLANES, Phase.SERVING, source), _pool(settings)]


def _pool(settings: W2Settings) -> Term:
    size, source = 0, "no FP4 tier"
    if settings.fp4_tier and not settings.delta.auto:
        slots = delta_slots(settings.delta.size_gib, DS4_FLASH, settings.fp4_slots)
        size = slots * DS4_FLASH.bytes_of(settings.fp4_slots)
        source = f"VLLM_MOE_W2_DELTA_GB={settings.delta.size_gib:g}: {slots} slots (planes.md g.2)"
    elif settings.fp4_tier:
        source = "VLLM_MOE_W2_DELTA_GB=auto: what is left after the KV cache"
    # the pool counts from the load: one GiB more than fits is published as out of memory there (profiles.md)
    return Term("fp4_pool", size, "gpu", Phase.LOADING_WEIGHTS, Phase.SERVING, source)
