"""The rules between settings: one row each, judged before anything is launched."""

from moet_boot.profile.model import Profile
from moet_boot.profile.rules import pools, server, serving, stores
from moet_boot.profile.rules.facts import read_facts
from moet_boot.profile.rules.result import Rule, RuleResult

README = "vLLM-Moet pull request 16 (README)"
CODE = "vLLM-Moet, pull request 16 and main branch (code)"

RULES: tuple[Rule, ...] = (
    Rule("RULE.RANGES", "numbers are usable", "vLLM's own limits", server.ranges),
    Rule("RULE.KNOBS", "values are read as they are meant", CODE, server.knobs),
    Rule("RULE.MASTER_SWITCH", "the 2-bit path is on", CODE, stores.master_switch),
    Rule("RULE.PLANES_SOURCE", "a store serves the experts", CODE, stores.source_of_planes),
    Rule("RULE.CACHE_BYPASSED", "the planes cache is looked at", CODE, stores.cache_bypassed),
    Rule("RULE.CACHE_IDENTITY", "the cache's identity is the published one", CODE, stores.cache_identity),
    Rule("RULE.DELTA_UNSET", "the FP4 pool is decided", CODE, stores.delta_unset),
    Rule("RULE.DELTA_AUTO", "an automatic pool is one", CODE, stores.delta_auto),
    Rule("RULE.PINNED_STORE", "FP4 rows stay out of host memory", CODE, stores.pinned_store),
    Rule("RULE.BASE_RAM", "the pinned arena has a pack", CODE, stores.base_ram),
    Rule("RULE.MODEL_PATH", "the model's path is the cache's", CODE, stores.model_path),
    Rule("RULE.NUM_LAYERS", "every layer is a 2-bit layer", CODE, server.num_layers),
    Rule("RULE.KERNEL_SIZES", "the kernels of this model are loaded", CODE, server.kernel_sizes),
    Rule("RULE.FIRE_FLOOR", "the FP4 pool holds what fires", CODE, pools.fire),
    Rule("RULE.POOL_FLOOR", "the base pool holds a step", CODE, pools.base_floor),
    Rule("RULE.POOL_MINIMUM", "the base pool holds two layers", CODE, pools.base_minimum),
    Rule("RULE.PREFILL_T", "a decode step is no prefill", CODE, pools.prefill),
    Rule("RULE.GATE_TIER", "the gate has something to promote into", CODE, pools.gate_tier),
    Rule("RULE.PROMOTE_CAP", "promotions are capped where it matters", CODE, pools.promote_cap),
    Rule("RULE.POOL_CEILING", "the pool fits beside the planes", README, pools.ceiling),
    Rule("RULE.POOL_BATCH", "the batch fits beside the pool", README, pools.batch),
    Rule("RULE.RESIDENT_FIT", "resident planes fit the card", CODE, serving.resident_fit),
    Rule("RULE.KV_DTYPE", "the KV cache is fp8", README, serving.kv_dtype),
    Rule("RULE.BLOCK_SIZE", "the block size goes with it", README, serving.block_size),
    Rule("RULE.CONTEXT", "the context boots and is found again", README, serving.context),
    Rule("RULE.UTILIZATION", "utilization leaves room for the graph estimate", README, serving.utilization),
    Rule("RULE.SPECULATION", "the speculative config is known", CODE, serving.speculation),
    Rule("RULE.MTP_MIN_P", "no min_p with speculation", README, serving.mtp_min_p),
    Rule("RULE.MTP_SEQS", "speculation for few streams", README, serving.mtp_seqs),
    Rule("RULE.PARALLEL", "nothing splits the experts", CODE, server.parallel),
    Rule("RULE.ONE_CARD", "as many ranks as GPUs", CODE, server.one_card),
    Rule("RULE.DTYPE", "the model runs in bfloat16", CODE, server.dtype),
    Rule("RULE.EXL3", "EXL3 stands alone", CODE, server.exl3),
    Rule(
        "RULE.ARGUMENTS",
        "flags reach the server",
        "DGX Spark plane file, published notes (the image is started with no arguments)",
        serving.arguments,
    ),
)


def check_rules(profile: Profile) -> list[RuleResult]:
    """Every rule that says something about this resolved profile, in the table's order. Pure."""
    facts = read_facts(profile)
    results = []
    for rule in RULES:
        outcome = rule.judge(facts)
        if outcome is not None:
            results.append(
                RuleResult(
                    id=rule.id,
                    title=rule.title,
                    status=outcome.status,
                    measured=outcome.measured,
                    required=outcome.required,
                    why=outcome.why,
                    fix=outcome.fix,
                    source=rule.source,
                )
            )
    return results
