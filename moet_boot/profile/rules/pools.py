"""Rules about the pools: the server's own floors, and what the card can hold beside resident planes."""

from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.knob import PREFIX
from moet_boot.planes.pool_floors import (
    PoolFinding,
    PoolLevel,
    PoolRule,
    check_base_minimum,
    check_pools,
    fire_floor,
)
from moet_boot.planes.server_version import ServerVersion
from moet_boot.profile.rules.facts import DEFAULT_BATCHED_TOKENS, Facts
from moet_boot.profile.rules.result import Level, Outcome
from moet_boot.units import from_gib, gib

CEILING_GIB = 6
CEILING_CARD_BYTES = from_gib(100)
"""The ceiling was measured on a card of 96 GB (95.6 GiB); a card from here up is another case."""
BATCHED_TOKENS = 2048

_LEVELS: dict[PoolLevel, Level] = {
    PoolLevel.OK: "pass",
    PoolLevel.WARN: "warn",
    PoolLevel.REFUSE: "refuse",
}


def fire(facts: Facts) -> Outcome | None:
    """The FP4 pool must hold what fired steps promote (g.3)."""
    pools = facts.pools()
    if pools is None or not pools.gate or pools.fp4_slots is None:
        return None
    floor = fire_floor(pools.layers, pools.top_k, pools.n_spec, pools.max_num_seqs, pools.gate_fp_max)
    measured = f"{pools.fp4_slots} slots"
    required = f"{floor} slots (max-num-seqs {pools.max_num_seqs}, drafts {pools.n_spec})"
    found = _of(check_pools(pools, facts.server), PoolRule.FIRE_FLOOR)
    if found is None:
        return Outcome("pass", measured, required)
    version = (
        "the pull request's text asks for FORCE_POOL=1 here, its code only ever warns"
        if facts.server is ServerVersion.V1
        else "this server refuses to boot without VLLM_MOE_W2_FORCE_POOL=1"
    )
    cost = "; measured with MTP k=2: 58 against 75 tok/s, 110% more tokens, degraded answers" if pools.n_spec else ""
    least = fire_floor(pools.layers, pools.top_k, 0, 1, pools.gate_fp_max)
    fix = f"set max-num-seqs=1 and drop speculation (floor {least}), or raise VLLM_MOE_W2_DELTA_GB where there is room"
    return Outcome(_level(found), measured, required, f"what fired steps promote does not fit; {version}{cost}", fix)


def base_floor(facts: Facts) -> Outcome | None:
    """The base pool must hold the working set of a decode step (g.3)."""
    pools = facts.pools()
    if pools is None or pools.base_slots is None:
        return None
    findings = check_pools(pools, facts.server)
    for rule in (PoolRule.BASE_FLOOR, PoolRule.TIGHT):
        found = _of(findings, rule)
        if found is not None:
            why = "every decode step waits for experts that the last one evicted"
            return Outcome(_level(found), f"{pools.base_slots} slots", found.message, why, found.fix)
    return Outcome("pass", f"{pools.base_slots} slots", "the working set of a step")


def base_minimum(facts: Facts) -> Outcome | None:
    """The base pool must hold two layers of experts, whatever the sequences (g.2)."""
    pools = facts.pools()
    if pools is None or pools.base_slots is None:
        return None
    measured, required = f"{pools.base_slots} slots", f"{2 * DS4_FLASH.n_experts} slots, two layers of experts"
    found = check_base_minimum(pools.base_slots, DS4_FLASH.n_experts)
    if not found:
        return Outcome("pass", measured, required)
    return Outcome(_level(found[0]), measured, required, "the server's own assertion ends the boot", found[0].fix)


def prefill(facts: Facts) -> Outcome | None:
    """A decode step must not be taken for a prefill (g.3); the server checks it only with a tier."""
    pools = facts.pools()
    if pools is None or (pools.base_slots is None and pools.fp4_slots is None):
        return None
    step = pools.sequences * (1 + pools.n_spec)
    measured, required = f"VLLM_MOE_W2_PREFILL_T {pools.prefill_tokens}", f"at least {step} tokens, a decode step"
    found = _of(check_pools(pools, facts.server), PoolRule.PREFILL)
    if found is None:
        return Outcome("pass", measured, required)
    why = "the server refuses to boot, and no setting forces it"
    return Outcome(_level(found), measured, required, why, found.fix)


def gate_tier(facts: Facts) -> Outcome | None:
    """A gate without an FP4 tier has nothing to promote into."""
    pools = facts.pools()
    if pools is None or not pools.gate:
        return None
    if pools.fp4_slots is not None:
        return Outcome("pass", "the gate has an FP4 pool", "an FP4 pool")
    found = _of(check_pools(pools, facts.server), PoolRule.GATE_WITHOUT_TIER)
    fix = "set VLLM_MOE_W2_DELTA_GB above 0, or VLLM_MOE_W2_GATE=0"
    if found is None:
        why = "without any tier the server does not even check: the gate stays on and does nothing useful"
        return Outcome("warn", "VLLM_MOE_W2_GATE=1 without an FP4 pool", "an FP4 pool", why, fix)
    return Outcome(_level(found), "VLLM_MOE_W2_GATE=1 without an FP4 pool", "an FP4 pool", found.message, fix)


def promote_cap(facts: Facts) -> Outcome | None:
    """A pool below its floor needs the cap on promotions (g.4)."""
    pools = facts.pools()
    if pools is None or not pools.gate or pools.fp4_slots is None:
        return None
    cap = facts.knob(f"{PREFIX}_GATE_MAX_PROMOTE")
    measured = f"VLLM_MOE_W2_GATE_MAX_PROMOTE {cap}"
    if cap > 0 or _of(check_pools(pools, facts.server), PoolRule.FIRE_FLOOR) is None:
        return Outcome("pass", measured, "a cap, where the pool is below the fire floor")
    why = "0 means no limit: one fired step then evicts what the next one needs"
    fix = "leave VLLM_MOE_W2_GATE_MAX_PROMOTE at 64, or enlarge the pool"
    return Outcome("warn", measured, "a cap, because the pool is below the fire floor", why, fix)


def ceiling(facts: Facts) -> Outcome | None:
    """What a 96 GB card holds beside resident planes."""
    if not _small_card_with_resident_planes(facts) or not facts.pool_gib:
        return None
    measured = f"an FP4 pool of {facts.pool_gib:g} GiB"
    required = f"at most {CEILING_GIB} GiB on a 96 GB card with resident planes"
    if facts.pool_gib <= CEILING_GIB:
        return Outcome("pass", measured, required)
    why = "72.56 GiB of planes leave no more: 7 GiB were measured to run out of memory while the model loads"
    return Outcome("refuse", measured, required, why, f"set VLLM_MOE_W2_DELTA_GB={CEILING_GIB} or less")


def batch(facts: Facts) -> Outcome | None:
    """What a full pool leaves to activations."""
    if not _small_card_with_resident_planes(facts) or facts.pool_gib < CEILING_GIB:
        return None
    said = facts.profile.flag("--max-num-batched-tokens")
    tokens = facts.whole("--max-num-batched-tokens", DEFAULT_BATCHED_TOKENS)
    measured = f"{tokens} batched tokens" + ("" if said is not None else " or more (the server's default)")
    required = f"fewer than {BATCHED_TOKENS} beside a pool of {CEILING_GIB} GiB"
    if tokens < BATCHED_TOKENS:
        return Outcome("pass", measured, required)
    why = "2048 were measured to run out of memory with pool 6; 1024 prefill 256K in 65 s, 256 take about 95 s"
    return Outcome("refuse", measured, required, why, "set max-num-batched-tokens=1024, or a smaller pool")


def _small_card_with_resident_planes(facts: Facts) -> bool:
    gpu = facts.profile.hardware.gpu
    card = None if gpu is None else gpu.memory_bytes
    resident = facts.w2 is not None and facts.w2.enabled and not facts.w2.base_cache
    return resident and card is not None and gib(card) < gib(CEILING_CARD_BYTES)


def _of(findings: list[PoolFinding], rule: PoolRule) -> PoolFinding | None:
    return next((finding for finding in findings if finding.rule is rule), None)


def _level(finding: PoolFinding) -> Level:
    return _LEVELS[finding.level]
