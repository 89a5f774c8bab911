"""How much memory a boot takes, phase by phase, and when the guard acts."""

from typing import Literal

from pydantic import Field

from moet_boot.phases import Phase
from moet_boot.profile.model.basics import Amount, Reasoned


class MemoryTerm(Reasoned):
    """A part of the memory of a boot that is held from the start of `first` to the end of `last`."""

    gib: Amount
    pool: Literal["gpu", "host"]
    first: Phase
    last: Phase = Phase.SERVING


class KvCache(Reasoned):
    """The KV cache: so many tokens, so many bytes each; or the rest of the budget that utilization gives."""

    bytes_per_token: Amount
    sizing: Literal["tokens", "utilization", "fixed"]
    """`tokens`: one context; `utilization`: what --gpu-memory-utilization leaves; `fixed`: `fixed_gib`."""
    fixed_gib: Amount | None = None


class MemoryBudget(Reasoned):
    """What a boot takes, phase by phase, and what must be available before it starts.

    On unified memory `gpu` and `host` terms come out of one pool.
    """

    terms: dict[str, MemoryTerm]
    kv_cache: KvCache | None = None
    minimum_available_gib: Amount | None = None
    """A published minimum of available memory (MemAvailable on unified memory)."""
    comfortable_available_gib: Amount | None = None
    """From here up nothing is said; between minimum and this, a warning."""
    host_headroom_gib: Amount = 2.0
    """Host RAM to keep free beyond the terms on a machine whose GPU has its own memory."""
    graph_estimate_gib: Amount = 0.0
    """VRAM that the engine's own graph estimate reserves while it is switched on."""


class GuardFloors(Reasoned):
    """When the memory guard acts (field notes: unified memory, policy 1-5)."""

    hard_floor_gib: Amount
    """MemAvailable below this before readiness: kill on one sample."""
    serving_floor_gib: Amount
    """MemAvailable below this after readiness for `serving_seconds`: kill."""
    serving_seconds: Amount = 3.0
    serving_hard_floor_gib: Amount = 1.0
    """After readiness: kill on one sample."""
    projection_seconds: Amount = 1.0
    """Before readiness: kill if the present rate reaches the hard floor within this time ..."""
    projection_ceiling_gib: Amount = 16.0
    """... and MemAvailable is already below this ..."""
    projection_rate_gib_s: Amount = 2.0
    """... and falls at least this fast."""
    relief: bool = False
    relief_free_gib: Amount = 8.0
    relief_cache_gib: Amount = 2.0
    relief_interval_s: Amount = 1.0
    stall_seconds: Amount = 15.0
    stall_psi_full: Amount = 35.0
    stall_swap_growth_gib: Amount = 1.0
    stall_flat_gib: Amount = 0.5
    phase_floors_gib: dict[Phase, Amount] = Field(default_factory=dict)
