from typing import Any

import pytest

from moet_boot.errors import UsageError
from moet_boot.launch.gpu_request import GpuRequest, gpu_request

NVIDIA: dict[str, Any] = {"runtimes": ["nvidia", "runc"], "cdi_devices": []}
CDI: dict[str, Any] = {"runtimes": ["runc"], "cdi_devices": ["nvidia.com/gpu=0", "nvidia.com/gpu=all"]}
BOTH: dict[str, Any] = {"runtimes": ["nvidia"], "cdi_devices": ["nvidia.com/gpu=all"]}
NEITHER: dict[str, Any] = {"runtimes": ["runc"], "cdi_devices": []}
OTHER_CDI: dict[str, Any] = {"runtimes": ["runc"], "cdi_devices": ["intel.com/gpu=0"]}


@pytest.mark.parametrize(
    ("gpus", "engine", "expected"),
    [
        (None, NVIDIA, None),
        ("all", NVIDIA, GpuRequest()),
        ("device=0", NVIDIA, GpuRequest(("0",))),
        ("device=0,1", NVIDIA, GpuRequest(("0", "1"))),
        ("device=GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a", NVIDIA, GpuRequest(("GPU-3a23c669-1f69-c64e-cf85-44e9b07e7a2a",))),
        ("all", CDI, GpuRequest(cdi=True)),
        ("device=0", CDI, GpuRequest(("0",), cdi=True)),
        ("all", BOTH, GpuRequest()),
        ("all", {**BOTH, "podman": True}, GpuRequest(cdi=True)),
        ("all", {**NVIDIA, "podman": True}, GpuRequest()),
        ("all", NEITHER, GpuRequest()),
        ("all", OTHER_CDI, GpuRequest()),
    ],
    ids=[
        "no GPU wanted", "nvidia runtime", "one card", "two cards", "a card by UUID", "CDI only", "CDI, one card",
        "both: the published way", "both, podman", "podman without CDI", "neither: the engine answers", "somebody else's CDI",
    ],
)  # fmt: skip
def test_what_the_engine_is_asked_for(gpus: str | None, engine: dict[str, Any], expected: GpuRequest | None) -> None:
    assert gpu_request(gpus, **engine) == expected


@pytest.mark.parametrize("gpus", ["", "0", "device=", "device=0,", "count=1", "device=0 1", "all,device=0"])
def test_anything_else_is_refused_with_an_example(gpus: str) -> None:
    with pytest.raises(UsageError, match="neither") as caught:
        gpu_request(gpus, **NVIDIA)
    assert "device=0" in caught.value.fix


def test_names_of_cdi_devices() -> None:
    assert GpuRequest(cdi=True).cdi_names == ("nvidia.com/gpu=all",)
    assert GpuRequest(("0", "2"), cdi=True).cdi_names == ("nvidia.com/gpu=0", "nvidia.com/gpu=2")
