"""What the container engine says."""

from pydantic import Field

from moet_boot.machine.facts.group import Count, Group


class DockerImage(Group):
    """The image that would be started, as far as its metadata tells."""

    ref: str
    arch: str | None = None
    digest: str | None = None
    digests: list[str] = Field(default_factory=list)
    """All that it is known by: its digests in registries, then its id. For an image asked for by a digest that
    is not here, those of the image that bears the name instead."""
    cuda_toolkit: str | None = None
    cuda_archs: list[str] | None = None
    vllm: str | None = None
    present: bool = True
    entrypoint: list[str] | None = None


class DockerRun(Group):
    """How a container is or would be run; `memory_limit` in bytes, None is no limit."""

    gpus: str | None = None
    network: str | None = None
    ipc: str | None = None
    shm_bytes: Count | None = None
    memory_limit: Count | None = None
    restart: str | None = None
    oom_score_adj: int | None = None


class ExitedContainer(Group):
    """A container that ended a short while ago: the driver may still be giving its memory back."""

    name: str
    exit_code: int | None = None
    seconds_ago: float | None = None
    gpu: bool = False


class Container(Group):
    """A container that exists; `ours` if moet-boot's label is on it, `ports` are those it publishes.

    `orphan`: it is ours, and the moet-boot that started it has ended.
    """

    name: str
    state: str
    id: str | None = None
    """The first 12 digits, by which processes and containers find each other."""
    ours: bool = False
    orphan: bool = False
    ports: list[int] = Field(default_factory=list)


class Docker(Group):
    present: bool
    error: str | None = None
    """Why it could not be asked."""
    server_version: str | None = None
    engine: str | None = None
    """docker or podman."""
    rootless: bool = False
    direct_kill: bool | None = None
    """Whether this user may signal the processes of containers, so that the guard needs no engine to end them."""
    cgroup_driver: str | None = None
    runtimes: list[str] = Field(default_factory=list)
    toolkit_version: str | None = None
    cdi_devices: list[str] = Field(default_factory=list)
    image: DockerImage | None = None
    run: DockerRun | None = None
    recently_exited: list[ExitedContainer] = Field(default_factory=list)
    containers: list[Container] = Field(default_factory=list)
