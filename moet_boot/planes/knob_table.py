"""The table of planes.md g.5: every VLLM_MOE_W2* variable, with its meaning in one line."""

from moet_boot.planes.knob import PREFIX, Knob, KnobKind
from moet_boot.planes.server_version import ServerVersion

BOTH = frozenset(ServerVersion)
V1 = frozenset({ServerVersion.V1})
V2 = frozenset({ServerVersion.V2})


def _switch(name: str, default: str, meaning: str, servers: frozenset[ServerVersion] = BOTH) -> Knob:
    return Knob(PREFIX + name, default, KnobKind.SWITCH, meaning, servers)


def _integer(name: str, default: str | None, meaning: str, servers: frozenset[ServerVersion] = BOTH) -> Knob:
    return Knob(PREFIX + name, default, KnobKind.INTEGER, meaning, servers)


def _number(name: str, default: str | None, meaning: str, servers: frozenset[ServerVersion] = BOTH) -> Knob:
    return Knob(PREFIX + name, default, KnobKind.NUMBER, meaning, servers)


def _text(name: str, default: str | None, meaning: str, servers: frozenset[ServerVersion] = BOTH) -> Knob:
    return Knob(PREFIX + name, default, KnobKind.TEXT, meaning, servers)


def _choice(
    name: str, default: str | None, choices: str, meaning: str, servers: frozenset[ServerVersion] = BOTH
) -> Knob:
    return Knob(PREFIX + name, default, KnobKind.CHOICE, meaning, servers, choices=tuple(choices.split()))


_MAIN = (
    _switch("", "0", "master switch of the 2-bit expert path"),
    _integer("_NUM_LAYERS", None, "main layers with 2-bit experts; changes n_layers of every pack"),
    _text("_CUBIT_DIR", "/cubit-share", "folder of the compiled kernels"),
    _text("_KS", "7168,6144,4096,2048,1024,512", "contraction sizes whose kernels are loaded"),
    _choice("_DENSE_FP8", "0", "0 1", "experiment of NVFP4 models; a v2 server refuses anything but 0"),
    _integer("_PREFILL_T", "96", "tokens above which a step counts as prefill; must hold seqs * (1 + drafts)"),
    _choice("_PREFILL_FP4", "1", "0 1 ensure", "use of FP4 slots during prefill"),
    _switch("_AFRAG", "1", "variant of the prefill kernel"),
    _integer("_A32_G1", "128", "activation group of the first matrix"),
    _integer("_A32_G2", "128", "activation group of the second matrix"),
    _switch("_A32_UE8M0", "1", "power-of-two activation scales"),
    _number("_TOPP", "0", "expert top-p, 0 is off"),
    _integer("_TOPP_MIN", "2", "experts that top-p keeps at least"),
    _switch("_TOPP_RENORM", "1", "renormalise router weights after top-p"),
    _switch("_FUSED_UNPERMUTE", "0", "fuse the un-permute step into the second matrix", V2),
    _switch("_SWIGLU_CLAMP", "1", "clamp inside SwiGLU", V2),
    _switch("_SWIGLU_CLAMP_FP32", "1", "clamp inside SwiGLU in fp32", V2),
    _switch("_DRAFT", "0", "2-bit planes for a DSpark draft head; needs NUM_LAYERS raised", V2),
)

_STORES = (
    _text("_PLANES_CACHE", None, "folder of the planes cache"),
    _text("_STORE_DIR", None, "folder of the packs"),
    _text("_CKPT_ID", None, "name of the checkpoint in identities, instead of a hash of file times", V2),
    _choice("_ZERO_MODE", "auto", "auto sign alt", "sign of exact zeros; part of identities, not of these bytes"),
    _switch("_STREAM_BUILD", "1", "streaming first boot, NVFP4 checkpoints only"),
    _integer("_STORE_THREADS", "8", "threads that read packs"),
    Knob(
        PREFIX + "_BASE_CACHE_GB",
        "0",
        KnobKind.GIB,
        "GPU pool over a host-resident base; moves the skip to packs",
        BOTH,
    ),
    Knob(
        PREFIX + "_BASE_RAM_GB",
        None,
        KnobKind.GIB_OR_AUTO,
        "pinned RAM over the base pack; needs STORE_DIR",
        BOTH,
    ),
    Knob(
        PREFIX + "_BASE_NVME_RATIO",
        None,
        KnobKind.NUMBER,
        "obsolete: logged as an error and ignored",
        BOTH,
        obsolete=True,
    ),
    _switch("_TIER_DIRECT", "0", "RAM arena: O_DIRECT on a miss"),
    _switch("_TIER_SCAN", "1", "RAM arena: prefill never evicts"),
    _switch("_TIER_PREHEAT", "1", "RAM arena: reload the hot list at boot"),
    _integer("_BASE_MISS_TOL", "0", "missing experts tolerated in a step"),
    _text("_BASE_MISS_TOL_FILE", "", "file that overrides BASE_MISS_TOL at run time"),
    _switch("_POOL_HEAT", "1", "keep a warm-start list of the base pool; writes into its folder"),
    _text("_POOL_HEAT_DIR", None, "folder of the warm-start list; default STORE_DIR, else PLANES_CACHE"),
    _number("_POOL_HEAT_EVERY_S", "10", "seconds between two writes of the warm-start list"),
    _number("_POOL_HEAT_FILL", "0.9", "share of the base pool filled from the list"),
    _integer("_KPI_EVERY", "500", "steps between two log lines of the base pool"),
    _switch("_FORCE_POOL", "0", "consent to a pool below its floor"),
    _switch("_FORCE_RESIDENT", "0", "consent to resident planes that hardly fit"),
)

_DELTA = (
    _switch("_DELTA", "1", "master switch of the FP4 tier"),
    Knob(
        PREFIX + "_DELTA_GB",
        "2.0",
        KnobKind.GIB_OR_AUTO,
        "GPU pool of FP4 experts; 0 is off, UNSET is 2 GiB",
        BOTH,
    ),
    Knob(PREFIX + "_DELTA_RESERVE_GB", "3.0", KnobKind.GIB, "VRAM that an auto pool leaves free", BOTH),
    Knob(PREFIX + "_DELTA_MAX_GB", "0", KnobKind.GIB, "limit of an auto pool, 0 is none", BOTH),
    _switch("_DELTA_SPLIT", "0", "quintal slots: other pack tag, other cache identity"),
    _choice("_DELTA_POLICY", None, "need freq lru", "who is promoted; freq, or need over a base cache"),
    _integer("_DELTA_PROMOTE", "8", "promotions in a pass of the manager"),
    _choice("_DELTA_RANK", "step_w", "step_w need", "order of capped promotions", V2),
    _number("_DELTA_DECAY", "0.5", "decay of hotness"),
    _number("_DELTA_DECAY_S", "5", "seconds between two decays"),
    _number("_DELTA_TICK_MS", "5", "spacing of the manager's passes"),
    _number("_TICK_FALLBACK_MS", "250", "longest pause of the manager", V1),
    _switch("_DELTA_TRACE", "0", "trace the pool"),
    _integer("_DELTA_TRACE_EVERY", "64", "steps between two trace lines"),
    _text("_DELTA_DUMP", "", "file for a dump of the pool"),
    _text("_DELTA_CAPTURE", "", "file for captured routing"),
    _integer("_DELTA_CAPTURE_TICKS", "20000", "ticks to capture"),
    _number("_PROMO_HYST", "0", "hysteresis of promotions"),
    Knob(
        PREFIX + "_FP_MAX",
        "8",
        KnobKind.INTEGER,
        "replays of a step with missing experts",
        BOTH,
        default_v2="32",
        least_v2=1,
    ),
    _number("_FP_THRESH", "0", "second-order threshold of a replay"),
    _text("_FP_THRESH_FILE", "", "file that overrides FP_THRESH at run time"),
    _choice("_REPLAY_MODE", "strict", "strict approximate", "what to do when replays do not converge", V2),
)

_GATE = (
    _switch("_GATE", "0", "confidence gate: run unsure steps again with FP4 experts"),
    _choice("_GATE_SIGNAL", "max_prob", "max_prob margin", "what confidence is"),
    _number("_GATE_TAU", "0.60", "confidence below which the gate fires (margin: 1.5)"),
    _text("_GATE_TAU_FILE", "", "file that overrides GATE_TAU at run time"),
    _integer("_GATE_MAX_PROMOTE", "64", "promotions in a fired step, 0 is unlimited"),
    _text("_GATE_MAX_PROMOTE_FILE", "", "file that overrides GATE_MAX_PROMOTE at run time", V2),
    _integer("_GATE_FP_MAX", "3", "passes of a fired step; enters the fire floor"),
    _switch("_GATE_REFORWARD", "1", "run a fired step again"),
    _switch("_GATE_SPEC_MASK", "0", "ignore rows that the sampler cannot emit"),
    _switch("_GATE_CAPTURE", "0", "record the gate's decisions"),
    _switch("_GATE_TRACE", "0", "log the gate's decisions"),
    Knob(
        PREFIX + "_GATE_AGG",
        "min",
        KnobKind.TEXT,
        "how a batch is judged: min, or q: and a quantile",
        V2,
        form=(r"min|q:[0-9]*\.?[0-9]+", "min, or q: and a number such as q:0.1"),
    ),
    _switch("_GATE_AUDIT", "0", "measure what the gate changes", V2),
    _text("_GATE_DUMP", "", "file for a dump of the gate", V2),
    _switch("_GATE_FIRE_TIMING", "0", "time fired steps", V2),
    _text("_GATE_HCAP_DIR", "", "folder for captured hidden states", V2),
    _integer("_GATE_HCAP_FLUSH", "256", "captures between two writes", V2),
)

_PREDICTION = (
    _number("_SPEC_GUARD", "60", "suspends drafts while the base pool is cold"),
    _number("_SPEC_GUARD_EMA", "0.02", "smoothing of the draft guard"),
    _integer("_SPEC_GUARD_PROBE", "500", "steps between two probes of the draft guard"),
    _number("_SPEC_GUARD_MIN_DROP", "5", "gain below which drafts stay suspended"),
    _integer("_SPEC_GUARD_COOLDOWN", "25000", "steps before drafts are tried again"),
    _switch("_PREFETCH", "0", "prefetch by draft affinity (base cache)"),
    _integer("_PREFETCH_CAP", "32", "experts prefetched in a step"),
    _integer("_PREFETCH_TCAP", "8", "experts prefetched for a token"),
    _switch("_LOOKA", "0", "study of a look-ahead router"),
    _switch("_PILOT", "0", "prefetch by a look-ahead router (base cache)"),
    _integer("_PILOT_K", "8", "experts that the look-ahead names"),
    _integer("_PILOT_CAP", "32", "experts that the look-ahead fetches"),
    _integer("_PILOT_COLD_TICKS", "200", "ticks before the look-ahead starts"),
    _integer("_PILOT_MIN_REPLAY", "30", "replays before the look-ahead starts"),
)

_BF12 = (
    _switch("_BF12", "0", "lossless 12-bit storage of large BF16 dense weights"),
    _integer("_BF12_MIN_NUMEL", "1048576", "smallest weight stored in 12 bits"),
    _switch("_BF12_VERIFY", "1", "check the 12-bit form after packing"),
    _text("_BF12_EXCLUDE", "", "names that stay BF16"),
    _switch("_BF12_PARANOIA", "0", "check the 12-bit form at every use"),
    _switch("_BF12_PRIVATE", "0", "private buffers for unpacking"),
    _switch("_BF12_SYNC", "0", "synchronise after unpacking"),
)

_EXL3 = (
    _switch("_EXL3_BASE", "0", "an EXL3 base instead of planes; outside what moet-boot judges", V2),
    _text("_EXL3_PACK", "/serve-tau/exl3-packs-ds4", "folder of EXL3 packs", V2),
    _integer("_EXL3_W2K", "2", "EXL3 bits", V2),
    _text("_EXL3_REPO", None, "EXL3 source repository", V2),
    _switch("_EXL3_CUDAGRAPH", "0", "EXL3 under graph capture", V2),
    _text("_EXL3_DELTA_PACK", "", "FP4 pack beside an EXL3 base", V2),
    _text("_EXL3_DELTA_UNIFIED", None, "EXL3 with one delta store", V2),
    _text("_EXL3_DELTA_VALIDATE", None, "check the EXL3 delta pack", V2),
    _integer("_EXL3_FP4_CACHE", "96", "FP4 slots beside an EXL3 base", V2),
    _switch("_EXL3_FP4_CUBIN", "0", "FP4 kernels beside an EXL3 base", V2),
    _switch("_EXL3_FP4_VALIDATE", "0", "check FP4 slots beside an EXL3 base", V2),
    _switch("_EXL3_WAVE", "0", "EXL3 wave scheduling", V2),
    _switch("_EXL3_WAVE_M8", "0", "EXL3 wave scheduling for small batches", V2),
)

KNOBS: dict[str, Knob] = {
    found.name: found for found in (*_MAIN, *_STORES, *_DELTA, *_GATE, *_PREDICTION, *_BF12, *_EXL3)
}
