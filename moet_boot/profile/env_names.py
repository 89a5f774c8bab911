"""Which environment variables a server may be given, and which texts they take."""

import json
import math
from functools import cache
from importlib.resources import files

from moet_boot.errors import UsageError
from moet_boot.planes.knob import KnobKind
from moet_boot.planes.knob_table import KNOBS
from moet_boot.planes.knobs import check_knob
from moet_boot.planes.server_version import ServerVersion
from moet_boot.profile.model import Profile, SettingValue

LIBRARIES = frozenset(
    {
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "DO_NOT_TRACK",
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "NCCL_DEBUG",
        "NVIDIA_DISABLE_REQUIRE",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TOKENIZERS_PARALLELISM",
        "TORCHINDUCTOR_CACHE_DIR",
        "TORCH_CUDA_ARCH_LIST",
        "TRANSFORMERS_OFFLINE",
        "TRITON_CACHE_DIR",
    }
)
"""Variables of the libraries under the server that people set for it."""


@cache
def vllm_names() -> frozenset[str]:
    """The names that vLLM itself reads, from moet-boot's copy (scripts/dump_vllm_env.py)."""
    text = files("moet_boot.profile").joinpath("vllm_env.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)["names"])


def known_env(profile: Profile) -> frozenset[str]:
    """Every variable that this profile's server may be given."""
    return vllm_names() | LIBRARIES | KNOBS.keys() | profile.env.keys()


def read_env(profile: Profile, name: str, text: str) -> SettingValue:
    """`text` as a value of the variable; raises ValueError that says what was expected."""
    if name in KNOBS:
        return _knob_value(profile, name, text)
    known = profile.env.get(name)
    if known is not None and isinstance(known.value, int | float):
        return _like(text, known.value)
    return text


def _knob_value(profile: Profile, name: str, text: str) -> SettingValue:
    server = ServerVersion(profile.engine.formats) if profile.engine.formats else None
    try:
        check_knob(name, text, server)
    except UsageError as error:
        raise ValueError(f"{error.what.removeprefix(f'{name}={text!r}: ')} ({error.fix})") from None
    match KNOBS[name].kind:
        case KnobKind.SWITCH | KnobKind.INTEGER:
            return int(text)
        case KnobKind.NUMBER | KnobKind.GIB | KnobKind.GIB_OR_AUTO:
            return text if text == "auto" else _plain(float(text))
        case KnobKind.TEXT | KnobKind.CHOICE:
            return text


def _like(text: str, example: float) -> SettingValue:
    """A number of the kind that the profile has there."""
    try:
        number = int(text) if isinstance(example, int) else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        kind = "a whole number" if isinstance(example, int) else "a number"
        raise ValueError(f"expected {kind}, such as {example}")
    return number


def _plain(number: float) -> SettingValue:
    return int(number) if number.is_integer() else number
