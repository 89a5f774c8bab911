"""What a launch plan asks of the server, read from the very arguments that will be passed."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from moet_boot.errors import UsageError
from moet_boot.launch.plan import LaunchPlan
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.profile.model import Profile
from moet_boot.units import GIB

T = TypeVar("T")

_SCALES = {"k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_SCALES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Asked:
    """The part of a plan that decides about memory; None where neither the plan nor the profile says it.

    `w2` is None without the 2-bit path, and for an image whose inner settings are not published.
    """

    context_tokens: int | None
    utilization: float | None
    kv_bytes: int | None
    draft_tokens: int
    graph_estimate: bool
    w2: W2Settings | None
    problems: tuple[str, ...] = ()
    """Values that the server could not read either; they count as not given here."""


def asked(profile: Profile, plan: LaunchPlan) -> Asked:
    """Read a plan. Raises nothing: what cannot be read is among the problems."""
    problems: list[str] = []

    def read(reader: Callable[[Profile, LaunchPlan], T | None]) -> T | None:
        try:
            return reader(profile, plan)
        except UsageError as error:
            problems.append(error.what)
            return None

    return Asked(
        context_tokens=read(_context),
        utilization=read(_utilization),
        kv_bytes=read(_kv_bytes),
        draft_tokens=read(_drafts) or 0,
        graph_estimate=plan.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "1") != "0",
        w2=read(_w2),
        problems=tuple(problems),
    )


def argument(plan: LaunchPlan, name: str) -> str | None:
    """The value of a flag in a plan's arguments, `--name value` or `--name=value`; the last one wins."""
    found: str | None = None
    for position, word in enumerate(plan.argv):
        if word == name:
            found = plan.argv[position + 1] if position + 1 < len(plan.argv) else ""
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def draft_tokens(config: str | None) -> int:
    """`num_speculative_tokens` of a speculative config; 0 without one.

    Raises UsageError for text that is no JSON object.
    """
    if not config or config == "null":
        return 0
    try:
        tokens = json.loads(config)["num_speculative_tokens"]
        return max(int(tokens), 0)
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"--speculative-config is {config!r}, expected a JSON object with num_speculative_tokens",
            fix='for example --set speculative-config=\'{"method":"deepseek_mtp","num_speculative_tokens":2}\'',
        ) from None


def whole_number(name: str, text: str) -> int:
    """A whole number as the server reads it: `32768`, `32k` (x 1000), `32K` (x 1024).

    Raises UsageError for anything else, and below 1.
    """
    scale = _SCALES.get(text[-1:], _BINARY_SCALES.get(text[-1:], 1))
    digits = text[:-1] if scale > 1 else text
    try:
        number = int(float(digits) * scale) if scale > 1 else int(digits)
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise UsageError(f"{name} is {text!r}, expected a whole number above 0", fix=f"for example {name} 32768")
    return number


def _argument(profile: Profile, plan: LaunchPlan, name: str) -> str | None:
    """From the plan; for an image that is started without arguments, what the profile says about it."""
    given = argument(plan, name)
    if given is None and not plan.argv:
        value = profile.flag(name)
        return None if value is None else str(value)
    return given


def _whole(profile: Profile, plan: LaunchPlan, name: str) -> int | None:
    text = _argument(profile, plan, name)
    return None if text is None else whole_number(name, text)


def _context(profile: Profile, plan: LaunchPlan) -> int | None:
    text = _argument(profile, plan, "--max-model-len")
    # the engine then takes what the model and the memory allow
    return None if text in {None, "auto", "-1"} else whole_number("--max-model-len", str(text))


def _utilization(profile: Profile, plan: LaunchPlan) -> float | None:
    text = _argument(profile, plan, "--gpu-memory-utilization")
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        what = f"--gpu-memory-utilization is {text!r}, expected a share above 0 and up to 1"
        raise UsageError(what, fix="for example --set gpu-memory-utilization=0.95")
    return value


def _drafts(profile: Profile, plan: LaunchPlan) -> int:
    return draft_tokens(_argument(profile, plan, "--speculative-config"))


def _kv_bytes(profile: Profile, plan: LaunchPlan) -> int | None:
    space = plan.env.get("VLLM_CPU_KVCACHE_SPACE")
    if space is not None:
        # on a CPU the environment wins over the flag (vLLM 0.32.0, platforms/cpu.py)
        return whole_number("VLLM_CPU_KVCACHE_SPACE", space) * GIB
    return _whole(profile, plan, "--kv-cache-memory-bytes")


def _w2(profile: Profile, plan: LaunchPlan) -> W2Settings | None:
    if profile.engine.formats is None:
        return None
    return W2Settings.from_env(plan.env, ServerVersion(profile.engine.formats))
