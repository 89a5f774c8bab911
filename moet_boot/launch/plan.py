"""The launch plan: the exact argv, environment, mounts and container options, computed once."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Literal


@dataclass(frozen=True)
class PlannedMount:
    """A bind mount; `source` is the path on the host."""

    name: str
    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class ContainerOptions:
    """What the container runtime is asked for, beyond argv, env and mounts. shm in bytes."""

    image: str
    image_arch: str
    name: str
    gpus: str | None
    network: str
    ipc: str
    shm_bytes: int | None
    entrypoint: tuple[str, ...] | None
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchPlan:
    """What will be started. The preflight judges this very object, and the launcher starts it."""

    profile: str
    variant: str | None
    runtime: Literal["process", "docker"]
    argv: tuple[str, ...]
    env: dict[str, str]
    """What the plan adds to the environment; a process runtime inherits the rest, a container does not."""
    mounts: tuple[PlannedMount, ...]
    paths: dict[str, str]
    """Artefact name -> path on the host."""
    model: str
    served_name: str
    host: str
    port: int
    container: ContainerOptions | None = None

    @property
    def url(self) -> str:
        """Where the server answers, as this machine reaches it."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def digest(self) -> str:
        """sha256 of the whole plan in canonical JSON: equal plans have equal digests."""
        body = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(body.encode()).hexdigest()
