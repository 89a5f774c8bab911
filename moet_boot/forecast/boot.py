"""The forecast of one boot, from profile, plan and what is known of machine and artefacts. Pure."""

from collections.abc import Iterable, Mapping

from moet_boot.forecast.asked import Asked, asked
from moet_boot.forecast.facts import BootFacts
from moet_boot.forecast.model import Forecast, PhasePeak, Pool, Term
from moet_boot.forecast.staging import staging
from moet_boot.forecast.terms import boot_terms, granted_bytes, kv_term
from moet_boot.launch.plan import LaunchPlan
from moet_boot.phases import Phase
from moet_boot.profile.model import GuardFloors, MemoryKind, Profile
from moet_boot.receipts.learned import MeasuredPeak
from moet_boot.units import from_gib

UNIFIED_CONTEXT_BYTES = from_gib(3)
"""Paid before the engine's first look at free memory on a GB10 (unified-memory.md 3.1: 2.6-2.7 GiB seen)."""

DISCRETE_CONTEXT_BYTES = from_gib(0.45)
"""The CUDA context on a card of its own: not published, moet-boot's judgement. At 0.99 of an empty RTX PRO 6000
0.95 GiB are left for it and for a display, and that boots; half of them may be a display's."""


def forecast(
    profile: Profile,
    plan: LaunchPlan,
    facts: BootFacts | None = None,
    measured_peaks: Mapping[Phase, MeasuredPeak] | None = None,
) -> Forecast:
    """Memory by phase: the larger of the model and of what this host measured for the same plan."""
    facts = facts or BootFacts()
    wish = asked(profile, plan)
    staged = staging(wish.w2, facts) if wish.w2 is not None and wish.w2.enabled else None
    terms = boot_terms(profile, wish, facts, staged)
    cache = kv_term(profile, wish, facts, terms)
    terms += [cache[0]] if cache else []
    unified = profile.hardware.memory is MemoryKind.UNIFIED
    phases = tuple(_peak(phase, terms, profile.guard, measured_peaks or {}, unified=unified) for phase in Phase)
    gpu_peak = 0 if unified else max(peak.gpu_bytes for peak in phases)
    return Forecast(
        unified=unified,
        terms=tuple(sorted(terms, key=lambda term: (term.first.order, -term.bytes))),
        phases=phases,
        host_required_bytes=_host_required(profile, wish, facts, phases),
        gpu_required_bytes=_gpu_required(profile, wish, facts, phases),
        gpu_peak_bytes=gpu_peak,
        kv=cache[1] if cache else None,
        staging=staged,
        problems=wish.problems,
    )


def floor_bytes(guard: GuardFloors, phase: Phase) -> int:
    """What the memory guard wants to see left in a phase."""
    usual = guard.serving_floor_gib if phase is Phase.SERVING else guard.hard_floor_gib
    return from_gib(guard.phase_floors_gib.get(phase, usual))


def _peak(
    phase: Phase,
    terms: Iterable[Term],
    guard: GuardFloors,
    measured: Mapping[Phase, MeasuredPeak],
    *,
    unified: bool,
) -> PhasePeak:
    held = [term for term in terms if term.held_in(phase)]
    model = PhasePeak(phase, _sum(held, "host"), _sum(held, "gpu"), "model", floor_bytes(guard, phase))
    seen = measured.get(phase)
    return model if seen is None else _corrected(model, seen, unified=unified)


def _corrected(model: PhasePeak, seen: MeasuredPeak, *, unified: bool) -> PhasePeak:
    """Corrected upward only; what unified memory lost beyond the model is the host's side of the pool."""
    host = max(model.host_bytes, seen.host_bytes - model.gpu_bytes if unified else seen.host_bytes)
    gpu = model.gpu_bytes if unified else max(model.gpu_bytes, seen.gpu_bytes)
    if (host, gpu) == (model.host_bytes, model.gpu_bytes):
        return model
    return PhasePeak(model.phase, host, gpu, "measured", model.floor_bytes)


def _sum(terms: Iterable[Term], pool: Pool) -> int:
    return sum(term.bytes for term in terms if term.pool == pool)


def _host_required(profile: Profile, wish: Asked, facts: BootFacts, phases: Iterable[PhasePeak]) -> int:
    published = from_gib(profile.memory.minimum_available_gib or 0)
    if profile.hardware.memory is not MemoryKind.UNIFIED:
        headroom = from_gib(profile.memory.host_headroom_gib)
        return max(published, *(peak.host_bytes + max(peak.floor_bytes, headroom) for peak in phases))
    # the engine refuses to start below its share, whatever it then needs (unified-memory.md 3.2)
    share = granted_bytes(profile, wish, facts)
    admission = share + UNIFIED_CONTEXT_BYTES if share else 0
    return max(published, admission, *(peak.total_bytes + peak.floor_bytes for peak in phases))


def _gpu_required(profile: Profile, wish: Asked, facts: BootFacts, phases: Iterable[PhasePeak]) -> int:
    if profile.hardware.memory is not MemoryKind.DISCRETE:
        return 0
    share = granted_bytes(profile, wish, facts) or 0
    return max(share, *(peak.gpu_bytes for peak in phases)) + DISCRETE_CONTEXT_BYTES
