"""From a request to a running container whose first process this machine holds."""

from dataclasses import dataclass

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.launch.container_name import clear_name
from moet_boot.launch.container_process import ContainerProcess, hold_process
from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.docker_engine import DockerEngine
from moet_boot.launch.process import Clock

APPEAR_S = 5.0
"""How long the first process of a started container may take to be seen here."""


@dataclass(frozen=True)
class Started:
    """A container that was started. `process` is None when it ended before it could be seen."""

    id: str
    process: ContainerProcess | None
    notice: str
    """What was cleared away for it, or ""."""


def start_container(engine: DockerEngine, request: ContainerRequest, arch: str, clock: Clock) -> Started:
    """Create and start it; a stale one of a moet-boot that has ended is removed before. `arch` as in GOARCH.

    Raises BusyError when the name belongs to somebody else, ArtefactMissingError when image or a mounted path is
    missing, MoetBootError when the engine refuses or runs elsewhere. Nothing is left behind then.
    """
    _check_image(engine, request.image, arch)
    notice = clear_name(engine, request.name, clock)
    container = engine.create(request)
    try:
        engine.start(container)
        return Started(container, _first_process(engine, container, clock), notice)
    except BaseException:
        engine.remove(container)
        raise


def _check_image(engine: DockerEngine, reference: str, arch: str) -> None:
    image = engine.image(reference)
    if image is None:
        raise ArtefactMissingError(
            f"the engine has no image {reference}", fix="build or load it, or fetch it with --pull"
        )
    if image.arch != arch:
        raise MoetBootError(
            f"the image {reference} is built for {image.arch or 'an unknown architecture'}, not for {arch}",
            fix=f"build or pull it for {arch}",
            code=Exit.REFUSED,
        )


def _first_process(engine: DockerEngine, container: str, clock: Clock) -> ContainerProcess | None:
    deadline = clock.now() + APPEAR_S
    while True:
        state = engine.find(container)
        if state is None or not state.running:
            return None
        process = hold_process(state)
        if process:
            return process
        if clock.now() >= deadline:
            raise MoetBootError(
                f"the engine runs the container as process {state.pid}, and this machine has no such process: "
                "it runs elsewhere, and nothing here could guard the memory there",
                fix="run moet-boot on the machine of the engine",
            )
        clock.sleep(0.05)
