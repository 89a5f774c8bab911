"""Rules about the server's flags: cache type, context, utilization, speculation."""

from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.pool_floors import check_resident_fit
from moet_boot.planes.w2_settings import switch
from moet_boot.profile.assignment import words_of
from moet_boot.profile.rules.facts import MODEL_CONTEXT, Facts
from moet_boot.profile.rules.result import Outcome

ESTIMATE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
MAX_UTILIZATION = 0.95
DEFAULT_UTILIZATION = 0.92
BLOCK_SIZE = 256
MTP_SEQS = 192
RETRIEVAL_POOL, RETRIEVAL_BARE = 262_144, 307_200
CAPACITY_POOL, CAPACITY_BARE = 913_920, 1_048_576
"""Tokens: retrieval was measured reliable up to the first pair, a boot succeeded up to the second."""
NEEDLES = "192K about 92%, 256K about 90%, 288K about 75%"
TABLE = "measured tok/s, MTP k=2 against off: 115/89 at 1 stream, 1122/752 at 64, 858/1368 at 128, 927/1748 at 192"


def kv_dtype(facts: Facts) -> Outcome | None:
    """The model's attention asserts an fp8 KV cache."""
    if not facts.planes_path:
        return None
    value = facts.profile.flag("--kv-cache-dtype")
    measured = f"--kv-cache-dtype {words_of(value)}"
    if value == "fp8":
        return Outcome("pass", measured, "fp8")
    fix = "set kv-cache-dtype=fp8"
    if value in {"fp8_ds_mla", "fp8_e4m3"}:
        return Outcome("warn", measured, "fp8", "other names of the same cache; only fp8 was published", fix)
    why = "the model's fp8_ds_mla attention asserts an fp8 cache (about 1.8 KB for a token) and ends the boot"
    return Outcome("refuse", measured, "fp8", why, fix)


def block_size(facts: Facts) -> Outcome | None:
    """The block size goes with the cache type."""
    if not facts.planes_path:
        return None
    value = facts.profile.flag("--block-size")
    measured, required = f"--block-size {words_of(value)}", str(BLOCK_SIZE)
    if value == BLOCK_SIZE:
        return Outcome("pass", measured, required)
    why = "the fp8 attention of this model was published with blocks of 256 only"
    return Outcome("warn", measured, required, why, f"set block-size={BLOCK_SIZE}")


def context(facts: Facts) -> Outcome | None:
    """How much context boots, and how much of it is found again."""
    if not facts.planes_path or facts.w2 is None or not facts.w2.enabled:
        return None
    pool = facts.w2.fp4_tier
    reliable, boots = (RETRIEVAL_POOL, CAPACITY_POOL) if pool else (RETRIEVAL_BARE, CAPACITY_BARE)
    kind = "with an FP4 pool" if pool else "without a pool"
    required = f"at most {reliable:,} tokens {kind}"
    said = facts.profile.flag("--max-model-len")
    measured = f"{facts.context:,} tokens"
    fix = f"set max-model-len={RETRIEVAL_POOL}"
    found = f"needles found: {NEEDLES}; it boots, but early context is lost"
    if said in {"auto", -1}:
        return Outcome("warn", "as many tokens as fit", required, found, fix)
    if said is None:
        measured += " (the model's own: nothing else is asked for)"
    if facts.context > boots:
        why = f"the longest context that was seen to boot {kind} is {boots:,} tokens"
        return Outcome("refuse", measured, f"at most {boots:,} tokens", why, fix)
    if facts.context > reliable:
        return Outcome("warn", measured, required, found, fix)
    return Outcome("pass", measured, required)


def utilization(facts: Facts) -> Outcome | None:
    """High utilization needs the graph estimate out of the way."""
    if not facts.planes_path:
        return None
    value = facts.profile.flag("--gpu-memory-utilization")
    share = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else DEFAULT_UTILIZATION
    estimate = facts.env.get(ESTIMATE, "1") != "0"
    measured = f"utilization {share:g}, graph estimate {'on' if estimate else 'off'}"
    required = f"at most {MAX_UTILIZATION:g} while the graph estimate is on"
    if share <= MAX_UTILIZATION or not estimate:
        return Outcome("pass", measured, required)
    why = "the estimate sets about 2 GiB aside for about 0.06 GiB of graphs: above 0.95 they do not fit any more"
    fix = f"set {ESTIMATE}=0, or gpu-memory-utilization={MAX_UTILIZATION:g}"
    return Outcome("refuse", measured, required, why, fix)


def resident_fit(facts: Facts) -> Outcome | None:
    """Whether even an empty card holds the planes, as the server reckons it (g.3)."""
    gpu = facts.profile.hardware.gpu
    resident = facts.w2 is not None and facts.w2.enabled and not facts.w2.base_cache
    if not resident or gpu is None or gpu.memory_bytes is None:
        return None
    force = switch(facts.env, "VLLM_MOE_W2_FORCE_RESIDENT")
    length = min(facts.context, MODEL_CONTEXT)
    found = check_resident_fit(DS4_FLASH, gpu.memory_bytes, facts.n_spec, length, force=force)
    if not found:
        return Outcome("pass", f"{length:,} tokens of context", "resident planes fit an empty card")
    return Outcome(
        "warn" if force else "refuse",
        found[0].message,
        "resident planes fit an empty card",
        "the server stops at the first resident layer",
        found[0].fix,
    )


def speculation(facts: Facts) -> Outcome | None:
    """The speculative config must be readable, and of the kind that was measured."""
    value = facts.profile.flag("--speculative-config")
    if value is None:
        return None
    required = 'JSON such as {"method":"deepseek_mtp","num_speculative_tokens":2}'
    if facts.spec_problem:
        why = "the server cannot start with it"
        return Outcome("refuse", facts.spec_problem, required, why, "correct it, or set speculative-config= to drop it")
    if "mtp" in str(value):
        return Outcome("pass", f"{facts.n_spec} drafts by MTP", required)
    why = "another draft model was never measured here, and a v1 server counts its layers as the model's own"
    return Outcome("warn", str(value)[:80], required, why, "use the deepseek_mtp method")


def mtp_min_p(facts: Facts) -> Outcome | None:
    """Speculation and min_p exclude each other."""
    if not facts.n_spec:
        return None
    advice = facts.profile.sampling.get("min_p")
    advised = advice is not None and not advice.absent and bool(advice.value)
    measured = f"{facts.n_spec} drafts, clients advised min_p {words_of(advice.value if advice and advised else None)}"
    if not advised:
        return Outcome("pass", measured, "no min_p together with speculation")
    why = "with speculation on, min_p is not available to clients"
    fix = "use the mtp variant where there is one, drop speculation, or set sampling.min_p= (clients send none)"
    return Outcome("refuse", measured, "no min_p together with speculation", why, fix)


def mtp_seqs(facts: Facts) -> Outcome | None:
    """Speculation pays for few streams only."""
    if not facts.n_spec or not facts.planes_path:
        return None
    measured, required = f"{facts.n_spec} drafts, {facts.seqs} sequences", f"at most {MTP_SEQS} sequences with MTP"
    if facts.seqs <= MTP_SEQS:
        return Outcome("pass", measured, required)
    why = f"more was never measured, and from about 96 streams up speculation costs throughput; {TABLE}"
    return Outcome("warn", measured, required, why, f"set max-num-seqs={MTP_SEQS}, or drop speculation")


def arguments(facts: Facts) -> Outcome | None:
    """Flags for an image that takes none must not look as if they worked."""
    if facts.flags_pass:
        return None
    chosen = [name for name, s in facts.profile.flags.items() if s.layer not in {"profile", "variant"}]
    told = [name for name in facts.profile.flags if not facts.profile.flags[name].absent]
    moved = [key for key in facts.profile.chosen if key.startswith("engine.")]
    required = "no flags: the image's guarded entrypoint is started without arguments"
    if chosen:
        why = "its inner flags are not published; what is set here would silently not arrive"
        fix = "leave it out, or use a profile of your own with container.pass_arguments = true"
        return Outcome("refuse", f"{', '.join(chosen)} set", required, why, fix)
    if told or moved:
        why = "the image decides about them itself: moet-boot only expects it to be so"
        fix = "configure the image accordingly, or use a profile of your own with container.pass_arguments = true"
        return Outcome("warn", f"{', '.join(told + moved)} not passed", required, why, fix)
    return Outcome("pass", "none", required)
