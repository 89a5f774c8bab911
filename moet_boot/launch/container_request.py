"""The container that a plan asks for, complete to the last option. Pure.

What the engine is sent (`container_create`) and the `docker run` line that people see (`docker_line`) are both
made from this one object.
"""

from dataclasses import dataclass, field

from moet_boot import __version__
from moet_boot.errors import UsageError
from moet_boot.launch.gpu_request import GpuRequest, gpu_request
from moet_boot.launch.plan import ContainerOptions, LaunchPlan, PlannedMount
from moet_boot.machine.container_labels import PLAN_LABEL, PROFILE_LABEL, SUPERVISOR_LABEL, VERSION_LABEL
from moet_boot.machine.snapshot import Docker
from moet_boot.units import MIB

LOG_FILE_BYTES = 64 * MIB
LOG_FILES = 4


@dataclass(frozen=True)
class ContainerRequest:
    """One container. `ports`: published on loopback of the host (a bridge only); `shm_bytes` in bytes.

    `image_arch` (as in GOARCH) and `image_digest` say what the image must be; they are judged at each start.
    `log_bytes` in each of `log_files`: the engine's own copy of the log stays below 256 MiB.
    `oom_score_adj`: the kernel must take the server before the machine's own daemons (field notes on unified
    memory, section 6). `core_bytes` 0: a dying server once wrote a core of 100 GB (the same section).
    """

    image: str
    image_arch: str
    image_digest: str | None
    name: str
    entrypoint: str | None
    command: tuple[str, ...]
    env: dict[str, str]
    mounts: tuple[PlannedMount, ...]
    gpus: GpuRequest | None
    network: str
    ipc: str
    shm_bytes: int | None
    ports: tuple[int, ...]
    labels: dict[str, str]
    restart: str = "no"
    security: tuple[str, ...] = ("no-new-privileges",)
    log_driver: str = "json-file"
    log_options: dict[str, str] = field(
        default_factory=lambda: {"max-size": str(LOG_FILE_BYTES), "max-file": str(LOG_FILES)}
    )
    oom_score_adj: int = 800
    core_bytes: int = 0


def container_request(plan: LaunchPlan, engine: Docker, *, supervisor: str | None = None) -> ContainerRequest:
    """The container of a plan, on an engine with these abilities.

    `supervisor` marks the container as started by a running moet-boot. Raises UsageError for a plan that has no
    container and for a bridge network on which the server could not be reached.
    """
    options = plan.container
    if options is None:
        raise UsageError(f"the plan of {plan.profile} starts a program of this machine", fix="use --runtime docker")
    entrypoint, command = _command(options, plan)
    return ContainerRequest(
        image=options.image,
        image_arch=options.image_arch,
        image_digest=options.image_digest,
        name=options.name,
        entrypoint=entrypoint,
        command=command,
        env=dict(plan.env),
        mounts=plan.mounts,
        gpus=gpu_request(
            options.gpus,
            runtimes=engine.runtimes,
            cdi_devices=engine.cdi_devices,
            podman=engine.engine == "podman",
        ),
        network=options.network,
        ipc=options.ipc,
        shm_bytes=options.shm_bytes,
        ports=_published(options, plan),
        labels={**options.labels, **_labels(plan, supervisor)},
    )


def _command(options: ContainerOptions, plan: LaunchPlan) -> tuple[str | None, tuple[str, ...]]:
    """`docker run` takes one word as entrypoint; the rest of it goes before the arguments, which means the same."""
    if not options.entrypoint:
        return None, plan.argv
    return options.entrypoint[0], (*options.entrypoint[1:], *plan.argv)


def _published(options: ContainerOptions, plan: LaunchPlan) -> tuple[int, ...]:
    if options.network == "host":
        return ()
    if plan.host in {"127.0.0.1", "::1", "localhost"}:
        raise UsageError(
            f"on a {options.network} network a server that listens on {plan.host} of its container cannot be reached",
            fix="add --set host=0.0.0.0: the port is published on this machine's loopback only",
        )
    return (plan.port,)


def _labels(plan: LaunchPlan, supervisor: str | None) -> dict[str, str]:
    profile = plan.profile + (f"/{plan.variant}" if plan.variant else "")
    labels = {PROFILE_LABEL: profile, PLAN_LABEL: plan.digest, VERSION_LABEL: __version__}
    return labels if supervisor is None else {**labels, SUPERVISOR_LABEL: supervisor}
