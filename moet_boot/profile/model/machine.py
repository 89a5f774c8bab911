"""What the machine must be, which artefacts the boot needs, and how the server is started."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from moet_boot.profile.model.basics import Digest, ImageName, Port, Reasoned, Revision, Sha256, Size, Text
from moet_boot.units import from_gib


class MemoryKind(StrEnum):
    """How the machine's memory is laid out."""

    UNIFIED = "unified"
    DISCRETE = "discrete"
    HOST = "host"


class GpuRequirement(Reasoned):
    """Which GPU the profile is for. `names`: any of these occurs in the NVML name."""

    names: tuple[str, ...]
    compute_capability: str
    count: Annotated[int, Field(ge=1)] = 1
    memory_bytes: Size | None = None
    """VRAM that NVML must report at least; none on unified memory."""
    max_used_at_start_bytes: Size = from_gib(0.5)
    """VRAM that may already be taken when the boot starts (display, driver)."""
    min_driver_branch: Size | None = None
    """Smallest major number of the driver, such as 580."""


class Hardware(Reasoned):
    """What the machine must be."""

    memory: MemoryKind
    architectures: tuple[str, ...]
    gpu: GpuRequirement | None = None
    min_host_memory_bytes: Size | None = None
    wsl: Literal["refuse", "warn", "allow"] = "allow"


class ArtefactKind(StrEnum):
    """What an artefact is."""

    CHECKPOINT = "checkpoint"
    PLANE_FILE = "plane_file"
    PLANES_CACHE = "planes_cache"
    PACK_STORE = "pack_store"


class Artefact(Reasoned):
    """A file or folder that the boot needs."""

    kind: ArtefactKind
    path: Text
    """Where it is on the host unless the user says otherwise; `~` is expanded."""
    repo: str | None = None
    revision: Revision | None = None
    file: str | None = None
    size_bytes: Size | None = None
    shards: Size | None = None
    sha256: Sha256 | None = None
    optional: bool = False


class Mount(Reasoned):
    """An artefact as the container sees it."""

    artefact: Text
    target: Text
    read_only: bool = True


class Container(Reasoned):
    """How the container is made. Values that weaken isolation carry their reason in `reasons`."""

    image: ImageName
    image_arch: Literal["amd64", "arm64"]
    image_digest: Digest | None = None
    """What the image must be: its digest in a registry, or its id. None takes whatever bears the name."""
    gpus: str = "all"
    """`all` or `device=N`."""
    network: Literal["host", "bridge"] = "host"
    ipc: Literal["host", "private"] = "host"
    shm_bytes: Size | None = None
    entrypoint: tuple[str, ...] | None = None
    """None keeps the image's own entrypoint and command."""
    pass_arguments: bool = True
    """Whether the flags are passed as the container's command; a guarded image is started with none."""
    reasons: dict[str, str] = Field(default_factory=dict)


class Engine(Reasoned):
    """The server that is started."""

    runtime: Literal["process", "docker"]
    command: tuple[str, ...] = ()
    """The argv before model and flags; empty for a container whose image decides."""
    model: Text
    """The model string exactly as the server sees it: part of v1 identities."""
    served_name: Text
    host: str = "127.0.0.1"
    port: Port
    formats: Literal["v1", "v2"] | None = None
    """Which generation of pack and cache formats the server reads; None if it reads neither."""
    vllm_version: str | None = None
