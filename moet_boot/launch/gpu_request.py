"""Which GPUs a container asks for, in the form that the engine at hand understands. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from moet_boot.errors import UsageError

CDI_KIND = "nvidia.com/gpu"
_DEVICE = re.compile(r"[A-Za-z0-9:.-]+")


@dataclass(frozen=True)
class GpuRequest:
    """GPUs by index or UUID; `ids` empty means all of them. `cdi`: asked for by their CDI names."""

    ids: tuple[str, ...] = ()
    cdi: bool = False

    @property
    def cdi_names(self) -> tuple[str, ...]:
        """`nvidia.com/gpu=0` for each device, or `nvidia.com/gpu=all`."""
        return tuple(f"{CDI_KIND}={name}" for name in self.ids or ("all",))


def gpu_request(
    gpus: str | None, *, runtimes: Collection[str], cdi_devices: Collection[str], podman: bool = False
) -> GpuRequest | None:
    """What to ask the engine for; None for a container without GPUs.

    `gpus` is `all` or `device=N[,M]` as in a profile. An engine that knows NVIDIA's runtime is asked as by
    `--gpus`, the published command; one that only lists CDI devices, and podman, which passes no `--gpus` on in
    its older releases, by CDI names. An engine with neither is asked as by `--gpus`, and its refusal is the answer.
    Raises UsageError for any other text.
    """
    if gpus is None:
        return None
    offers_cdi = any(device.startswith(f"{CDI_KIND}=") for device in cdi_devices)
    return GpuRequest(_ids(gpus), cdi=offers_cdi and (podman or "nvidia" not in runtimes))


def _ids(gpus: str) -> tuple[str, ...]:
    if gpus == "all":
        return ()
    name, _, listed = gpus.partition("=")
    ids = tuple(listed.split(","))
    if name != "device" or not all(_DEVICE.fullmatch(i) for i in ids):
        raise UsageError(f"GPUs {gpus!r} are neither `all` nor `device=N`", fix="name them as in --set gpus=device=0")
    return ids
