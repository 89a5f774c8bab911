"""What a container engine's answers mean, in the snapshot's words. Pure."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from moet_boot.machine.cdi import without_unique
from moet_boot.machine.container_labels import SUPERVISOR_LABEL, is_ours
from moet_boot.machine.container_members import ID_DIGITS
from moet_boot.machine.facts.containers import Container, Docker, DockerImage, DockerRun, ExitedContainer

RECENT_S = 900.0
"""The slowest report of a driver that gives memory back is 4 minutes; this is well beyond."""

Json = Mapping[str, Any]


def describe_engine(version: Json, info: Json) -> Docker:
    """Which engine it is and what it can hand to a container."""
    names = [str(component.get("Name")) for component in version.get("Components") or ()]
    discovered = info.get("DiscoveredDevices") or ()
    return Docker(
        present=True,
        server_version=version.get("Version"),
        engine="podman" if any("podman" in name.lower() for name in names) else "docker",
        rootless=any("rootless" in option for option in info.get("SecurityOptions") or ()),
        cgroup_driver=info.get("CgroupDriver"),
        runtimes=sorted(info.get("Runtimes") or ()),
        cdi_devices=without_unique(str(device.get("ID")) for device in discovered if device.get("Source") == "cdi"),
    )


def describe_image(ref: str, image: Json) -> DockerImage:
    """An image by its metadata: CUDA from the variables that NVIDIA's base images and PyTorch builds set."""
    config = image.get("Config") or {}
    variables = dict(entry.partition("=")[::2] for entry in config.get("Env") or ())
    digests = image_digests(image)
    archs = re.split(r"[;,\s]+", variables.get("TORCH_CUDA_ARCH_LIST", "").strip())
    return DockerImage(
        ref=ref,
        arch=image.get("Architecture"),
        digest=digests[0] if digests else None,
        digests=digests,
        cuda_toolkit=".".join(variables["CUDA_VERSION"].split(".")[:2]) if "CUDA_VERSION" in variables else None,
        cuda_archs=[arch for arch in archs if arch] or None,
        vllm=variables.get("VLLM_VERSION"),
        entrypoint=config.get("Entrypoint"),
    )


def image_digests(image: Json) -> list[str]:
    """What an image is known by: its digests in registries, then its id (podman writes that without `sha256:`)."""
    registries = [str(entry).rpartition("@")[2] for entry in image.get("RepoDigests") or ()]
    own = str(image.get("Id") or "")
    return list(dict.fromkeys([*registries, *([own if ":" in own else f"sha256:{own}"] if own else [])]))


def describe_container(row: Json, is_gone: Callable[[str], bool] = lambda _mark: False) -> Container:
    """One row of the engine's list. `is_gone` judges the mark of the moet-boot that started it."""
    labels = row.get("Labels") or {}
    names = row.get("Names") or [str(row.get("Id") or "")[:ID_DIGITS]]
    return Container(
        name=str(names[0]).lstrip("/"),
        state=str(row.get("State") or ""),
        id=str(row.get("Id") or "")[:ID_DIGITS] or None,
        ours=is_ours(labels),
        orphan=is_ours(labels) and is_gone(labels[SUPERVISOR_LABEL]),
        ports=sorted({port["PublicPort"] for port in row.get("Ports") or () if port.get("PublicPort")}),
    )


def describe_run(details: Json) -> DockerRun:
    """How an existing container was made."""
    host = details.get("HostConfig") or {}
    return DockerRun(
        gpus=_gpus(details),
        network=host.get("NetworkMode"),
        ipc=host.get("IpcMode"),
        shm_bytes=host.get("ShmSize"),
        memory_limit=host.get("Memory") or None,
        restart=(host.get("RestartPolicy") or {}).get("Name"),
        oom_score_adj=host.get("OomScoreAdj"),
    )


def describe_exited(details: Json, now: float) -> ExitedContainer | None:
    """A container that ended, None if it has not or did so long ago. `now` in seconds since 1970."""
    state = details.get("State") or {}
    try:
        ended = datetime.fromisoformat(str(state.get("FinishedAt"))[:19]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    if state.get("Running") or not 0 <= now - ended <= RECENT_S:
        return None
    return ExitedContainer(
        name=str(details.get("Name") or "").lstrip("/"),
        exit_code=state.get("ExitCode"),
        seconds_ago=round(now - ended),
        gpu=_gpus(details) is not None,
    )


def _gpus(details: Json) -> str | None:
    """What a container asked for, as `--gpus` or `--device` take it; None without a GPU."""
    host = details.get("HostConfig") or {}
    for request in host.get("DeviceRequests") or ():
        ids = ",".join(request.get("DeviceIDs") or ())
        if request.get("Driver") == "cdi":
            return ids
        return f"device={ids}" if ids else _count(request.get("Count"))
    if host.get("Runtime") != "nvidia":
        return None
    variables = dict(entry.partition("=")[::2] for entry in (details.get("Config") or {}).get("Env") or ())
    visible = variables.get("NVIDIA_VISIBLE_DEVICES", "")
    return None if visible in {"", "void", "none"} else visible


def _count(count: object) -> str:
    return "all" if count in {-1, None} else str(count)
