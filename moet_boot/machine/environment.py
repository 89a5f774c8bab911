"""The few environment variables that change how a server boots, with secrets and addresses taken out."""

import re
from collections.abc import Mapping

from moet_boot.receipts.redact import REDACTED, is_secret_name, redact_text

KEPT = re.compile(
    r"CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|CUDA_LAUNCH_BLOCKING|CUDA_MODULE_LOADING|NVIDIA_VISIBLE_DEVICES"
    r"|NVIDIA_DRIVER_CAPABILITIES|NVIDIA_DISABLE_REQUIRE|PYTORCH_(?:CUDA_)?ALLOC_CONF|OMP_NUM_THREADS"
    r"|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|VLLM_\w+|MOET_BOOT_\w+"
)
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|://\S+|\b(?:[0-9a-f]{0,4}:){3,}[0-9a-f]{0,4}\b", re.IGNORECASE)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def pick_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, sorted by name; the values of secrets, addresses and UUIDs are replaced."""
    return {name: _value(name, text) for name, text in sorted(environment.items()) if KEPT.fullmatch(name)}


def _value(name: str, text: str) -> str:
    if is_secret_name(name):
        return REDACTED
    return ADDRESS.sub("[address]", UUID.sub("[uuid]", redact_text(text)))
