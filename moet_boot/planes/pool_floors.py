"""Will the pools hold the working set: the server's own floors, before the boot (planes.md g.2, g.3).

All functions are pure. GiB is 2**30 bytes.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.server_version import ServerVersion
from moet_boot.units import GIB, format_bytes

MIN_SLOTS = 8
MAX_COUNTED_SEQS = 4
HARD_MARGIN = 1.15
COMFORT_MARGIN = 1.40
REFIRE_SHARE = 0.35
VRAM_HEADROOM_BYTES = 2 * GIB
DRAFT_VRAM_BYTES = int(1.7 * GIB)
KV_BYTES_PER_TOKEN = 16 << 10


class PoolLevel(StrEnum):
    """What the server does about a floor."""

    OK = "ok"
    WARN = "warn"
    REFUSE = "refuse"


class PoolRule(StrEnum):
    """Which floor."""

    BASE_FLOOR = "base floor"
    TIGHT = "tight"
    BASE_MINIMUM = "base minimum"
    FIRE_FLOOR = "FIRE FLOOR"
    GATE_WITHOUT_TIER = "gate without FP4 tier"
    PREFILL = "prefill threshold"
    RESIDENT_FIT = "resident fit"


@dataclass(frozen=True)
class PoolFinding:
    """One floor's outcome; `server_says` is the token in the server's log."""

    level: PoolLevel
    rule: PoolRule
    message: str
    fix: str = ""
    server_says: str = ""


@dataclass(frozen=True)
class PoolPlan:
    """What a boot asks of its pools.

    `base_slots` / `fp4_slots` are None without that tier. An auto FP4 pool still has 0 slots when the
    server checks, so it counts as 0. `layers` are the layers in the tier's store.
    """

    layers: int
    top_k: int
    base_slots: int | None
    fp4_slots: int | None
    n_spec: int = 0
    max_num_seqs: int = 1
    gate: bool = False
    gate_fp_max: int = 3
    prefill_tokens: int = 96
    force_pool: bool = False

    @property
    def sequences(self) -> int:
        """Sequences that decode together, at least 1."""
        return max(self.max_num_seqs, 1)


def pool_slots(size_gib: float, slot_bytes: int) -> int:
    """Slots of a pool of this size; never fewer than 8."""
    return max(int(size_gib * GIB) // slot_bytes, MIN_SLOTS)


def delta_slots(size_gib: float, geometry: Geometry, kind: SlotKind = SlotKind.DELTA) -> int:
    """Slots of an FP4 pool: `delta` without a base cache, `fp4` over one, `fp4q` in split mode."""
    return pool_slots(size_gib, geometry.bytes_of(kind))


def fire_floor(layers: int, top_k: int, n_spec: int, max_num_seqs: int, fp_max: int = 3) -> int:
    """Slots that fired steps need when the gate is on.

    The order of the factors is the server's: the product is a float and is cut, not rounded.
    """
    refires = 1.0 + REFIRE_SHARE * max(fp_max - 1, 0)
    return int(layers * top_k * (1 + n_spec) * _counted(max_num_seqs) * refires)


def base_pairs(layers: int, top_k: int, n_spec: int, max_num_seqs: int, server: ServerVersion) -> int:
    """(layer, expert) pairs that a decode step touches: grows with sqrt(seqs) for v1, with seqs for v2."""
    counted = _counted(max_num_seqs)
    factor = math.sqrt(counted) if server is ServerVersion.V1 else counted
    return int(layers * top_k * (1 + n_spec) * factor)


def check_pools(plan: PoolPlan, server: ServerVersion) -> list[PoolFinding]:
    """Every floor that this plan misses; an empty list is the server's `floor check OK`.

    Without any tier the server checks nothing, and so does this.
    """
    found: list[PoolFinding] = []
    if plan.base_slots is not None:
        found += _check_base(plan, plan.base_slots, server)
    if plan.gate and plan.fp4_slots is not None:
        found += _check_fire(plan, plan.fp4_slots, server)
    if plan.base_slots is not None or plan.fp4_slots is not None:
        found += _check_gate_tier(plan, server) + _check_prefill(plan)
    return found


def check_base_minimum(base_slots: int, n_experts: int) -> list[PoolFinding]:
    """The base pool must hold the experts of two layers, or an assertion ends the boot (g.2)."""
    need = 2 * n_experts
    if base_slots >= need:
        return []
    what = f"the base pool has {base_slots} slots, the server asserts at least {need} (two layers of experts)"
    return [PoolFinding(PoolLevel.REFUSE, PoolRule.BASE_MINIMUM, what, "raise VLLM_MOE_W2_BASE_CACHE_GB")]


def check_resident_fit(
    geometry: Geometry, free_vram_bytes: int, n_spec: int, max_model_len: int, *, force: bool = False
) -> list[PoolFinding]:
    """Whether GPU-resident planes fit the free VRAM as the server reckons it at the first resident layer."""
    need = geometry.n_layers * geometry.n_experts * geometry.slot_bytes
    draft = DRAFT_VRAM_BYTES if n_spec else 0
    room = free_vram_bytes - VRAM_HEADROOM_BYTES - draft - max_model_len * KV_BYTES_PER_TOKEN
    if need <= room:
        return []
    what = (
        f"resident planes need {format_bytes(need)}, the server counts {format_bytes(room)} of "
        f"{format_bytes(free_vram_bytes)} free VRAM as usable at {max_model_len} tokens of context"
    )
    fix = "free the GPU, shorten --max-model-len, or consent with VLLM_MOE_W2_FORCE_RESIDENT=1"
    level = PoolLevel.WARN if force else PoolLevel.REFUSE
    says = "RESIDENT planes exceed" if force else "RESIDENT planes do not fit"
    return [PoolFinding(level, PoolRule.RESIDENT_FIT, what, fix, says)]


def _check_base(plan: PoolPlan, slots: int, server: ServerVersion) -> list[PoolFinding]:
    pairs = base_pairs(plan.layers, plan.top_k, plan.n_spec, plan.max_num_seqs, server)
    hard, comfort = int(HARD_MARGIN * pairs), int(COMFORT_MARGIN * pairs)
    step = f"a decode step touches about {pairs} (layer, expert) pairs"
    fix = "raise VLLM_MOE_W2_BASE_CACHE_GB, lower --max-num-seqs or the draft length"
    if slots < hard:
        level = PoolLevel.WARN if plan.force_pool else PoolLevel.REFUSE
        what = f"the base pool has {slots} slots, below the floor of {hard}: {step}"
        return [PoolFinding(level, PoolRule.BASE_FLOOR, what, fix, "BELOW the working-set floor")]
    if slots < comfort:
        what = f"the base pool has {slots} slots, below the comfortable {comfort}: {step}"
        return [PoolFinding(PoolLevel.WARN, PoolRule.TIGHT, what, fix, "pool is tight")]
    return []


def _check_fire(plan: PoolPlan, slots: int, server: ServerVersion) -> list[PoolFinding]:
    floor = fire_floor(plan.layers, plan.top_k, plan.n_spec, plan.max_num_seqs, plan.gate_fp_max)
    if slots >= floor:
        return []
    # the pull request's text says FORCE_POOL is needed here; its code only ever warns (planes.md g.3)
    warned = server is ServerVersion.V1 or plan.force_pool
    what = (
        f"the FP4 pool has {slots} slots, below the fire floor of {floor} = {plan.layers} layers x "
        f"{plan.top_k} experts x {1 + plan.n_spec} tokens x {_counted(plan.max_num_seqs)} sequences, with re-fires"
    )
    fix = "raise VLLM_MOE_W2_DELTA_GB, lower --max-num-seqs or switch speculation off"
    return [PoolFinding(PoolLevel.WARN if warned else PoolLevel.REFUSE, PoolRule.FIRE_FLOOR, what, fix, "FIRE FLOOR")]


def _check_gate_tier(plan: PoolPlan, server: ServerVersion) -> list[PoolFinding]:
    if not plan.gate or plan.fp4_slots is not None:
        return []
    v1 = server is ServerVersion.V1
    outcome = "the server switches the gate off" if v1 else "the server refuses to boot"
    what = f"the confidence gate is on and there is no FP4 tier to promote into: {outcome}"
    fix = "set VLLM_MOE_W2_DELTA_GB above 0, or VLLM_MOE_W2_GATE=0"
    level = PoolLevel.WARN if v1 else PoolLevel.REFUSE
    return [PoolFinding(level, PoolRule.GATE_WITHOUT_TIER, what, fix, "no FP4 delta tier exists")]


def _check_prefill(plan: PoolPlan) -> list[PoolFinding]:
    step = plan.sequences * (1 + plan.n_spec)
    if plan.prefill_tokens >= step:
        return []
    what = f"VLLM_MOE_W2_PREFILL_T is {plan.prefill_tokens}, below the largest decode step of {step} tokens"
    fix = f"set VLLM_MOE_W2_PREFILL_T to at least {step}, or lower --max-num-seqs"
    return [PoolFinding(PoolLevel.REFUSE, PoolRule.PREFILL, what, fix, "is below the largest decode step")]


def _counted(max_num_seqs: int) -> int:
    return min(max(max_num_seqs, 1), MAX_COUNTED_SEQS)
