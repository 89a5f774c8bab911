"""Rules about what the server itself refuses or ignores: combinations, versions, plain ranges."""

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.knob import PREFIX
from moet_boot.planes.knobs import check_knob
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import switch
from moet_boot.profile.rules.facts import Facts
from moet_boot.profile.rules.result import Outcome

RANGES: dict[str, tuple[float, float]] = {
    "--gpu-memory-utilization": (0.05, 1.0),
    "--max-model-len": (1, 1 << 31),
    "--max-num-seqs": (1, 1 << 20),
    "--max-num-batched-tokens": (1, 1 << 31),
    "--block-size": (1, 1 << 16),
    "--tensor-parallel-size": (1, 1 << 10),
    "--pipeline-parallel-size": (1, 1 << 10),
    "--data-parallel-size": (1, 1 << 10),
    "--port": (1, 65535),
}
"""What a number must lie between to mean anything; the limits are wide on purpose."""


def ranges(facts: Facts) -> Outcome:
    """Numbers that no server can use."""
    wrong = [
        (flag, value, low, high)
        for flag, (low, high) in RANGES.items()
        if (value := facts.profile.flag(flag)) is not None and not _within(flag, value, low, high)
    ]
    if not wrong:
        return Outcome("pass", "every number is usable", "numbers that a server can use")
    flag, value, low, high = wrong[0]
    why = "the server's parser lets some of them pass, and the boot fails later"
    required = f"{flag} from {low:g} to {high:,.0f}"
    return Outcome("refuse", f"{flag} {value}", required, why, f"correct {flag.removeprefix('--')}")


def _within(flag: str, value: object, low: float, high: float) -> bool:
    if flag == "--max-model-len" and value in {"auto", -1}:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def knobs(facts: Facts) -> Outcome | None:
    """Values that the server would misread or die on."""
    mine = {name: text for name, text in facts.env.items() if name.startswith(PREFIX)}
    if not mine:
        return None
    required = "values that this server reads as they are meant"
    for name, text in mine.items():
        try:
            check_knob(
                name, text, ServerVersion(facts.profile.engine.formats) if facts.profile.engine.formats else None
            )
        except UsageError as error:
            why = facts.w2_problem or "the server reads it as something else, or stops on it"
            return Outcome("refuse", error.what, required, why, error.fix)
    return Outcome("pass", f"{len(mine)} {PREFIX}* values", required)


def num_layers(facts: Facts) -> Outcome | None:
    """Layers beyond VLLM_MOE_W2_NUM_LAYERS load as they are (f.4 no. 11)."""
    if facts.w2 is None or not facts.w2.enabled or facts.w2.num_layers is None:
        return None
    layers, model = facts.w2.num_layers, DS4_FLASH.n_layers
    measured, required = f"{PREFIX}_NUM_LAYERS {layers}", f"{model}, the model's layers"
    if layers == model:
        return Outcome("pass", measured, required)
    fix = f"drop {PREFIX}_NUM_LAYERS"
    if layers < model:
        why = f"{model - layers} layers are then no 2-bit layers: 3.19 GiB each, which one card does not hold"
        return Outcome("refuse", measured, required, why, fix)
    return Outcome("warn", measured, required, "it changes the size and identity of every pack", fix)


def kernel_sizes(facts: Facts) -> Outcome | None:
    """The model's two contraction sizes must be among those whose kernels are loaded (f.7)."""
    text = facts.env.get(f"{PREFIX}_KS")
    if facts.w2 is None or not facts.w2.enabled or text is None:
        return None
    measured, required = f"{PREFIX}_KS {text}", f"{DS4_FLASH.hidden} and {DS4_FLASH.inter} among them"
    if {str(DS4_FLASH.hidden), str(DS4_FLASH.inter)} <= {size.strip() for size in text.split(",")}:
        return Outcome("pass", measured, required)
    why = "the server looks for the kernels of this model in that list and ends the boot without them"
    return Outcome("refuse", measured, required, why, f"drop {PREFIX}_KS: its default has both")


def parallel(facts: Facts) -> Outcome | None:
    """Expert parallelism, EPLB and ubatching do not go with 2-bit experts (f.7)."""
    if facts.w2 is None or not facts.w2.enabled:
        return None
    required = "no expert parallelism, EPLB or ubatching with 2-bit experts"
    experts = [f for f in ("--enable-expert-parallel", "--enable-eplb") if facts.on(f)]
    batches = ["--enable-dbo"] if facts.on("--enable-dbo") else []
    batches += ["--ubatch-size"] if facts.whole("--ubatch-size", 0) > 0 else []
    if not experts and not batches:
        return Outcome("pass", "none of them", required)
    fix = f"drop {', '.join(experts + batches)}"
    measured = ", ".join(experts + batches)
    if facts.server is ServerVersion.V2 or (batches and facts.w2.base_cache):
        return Outcome("refuse", measured, required, "the server refuses to boot with it", fix)
    why = "this server does not test for it, the next version refuses to boot with it"
    return Outcome("warn", measured, required, why, fix)


def one_card(facts: Facts) -> Outcome | None:
    """A profile of one GPU has planes for one rank."""
    gpu = facts.profile.hardware.gpu
    if gpu is None or not facts.flags_pass:
        return None
    sizes = {
        f: facts.whole(f, 1) for f in ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
    }
    ranks = 1
    for size in sizes.values():
        ranks *= max(size, 1)
    measured, required = f"{ranks} GPU ranks", f"{gpu.count} GPU"
    if ranks <= gpu.count:
        return Outcome("pass", measured, required)
    why = "the profile, its planes and its memory figures are for that many GPUs: other ranks find no planes"
    return Outcome("refuse", measured, required, why, "drop the parallel sizes, or write a profile for more GPUs")


def dtype(facts: Facts) -> Outcome | None:
    """A v2 server wants bfloat16 (f.7)."""
    value = facts.profile.flag("--dtype")
    if facts.w2 is None or not facts.w2.enabled or value is None or facts.server is not ServerVersion.V2:
        return None
    if value in {"bfloat16", "auto"}:
        return Outcome("pass", f"--dtype {value}", "bfloat16")
    return Outcome("refuse", f"--dtype {value}", "bfloat16", "the server refuses any other", "drop --dtype")


def exl3(facts: Facts) -> Outcome | None:
    """What the EXL3 base does not go with (g.5)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or not w2.exl3:
        return None
    required = "EXL3 alone: no base cache, no split pool, one GPU, eager mode or its own graphs"
    eager = facts.on("--enforce-eager") or switch(facts.env, f"{PREFIX}_EXL3_CUDAGRAPH")
    against = {
        f"{PREFIX}_BASE_CACHE_GB": w2.base_cache,
        f"{PREFIX}_DELTA_SPLIT": w2.split,
        "--tensor-parallel-size": facts.whole("--tensor-parallel-size", 1) > 1,
        f"{PREFIX}_EXL3_CUDAGRAPH=0 without --enforce-eager": not eager,
    }
    clash = [name for name, is_so in against.items() if is_so]
    if not clash:
        return Outcome("pass", "EXL3 base", required)
    why = "the server refuses to boot with it; moet-boot's artefact tools do not cover EXL3"
    return Outcome("refuse", f"EXL3 base with {', '.join(clash)}", required, why, f"drop {clash[0]}")
