"""From a request to a running container whose first process this machine holds."""

from dataclasses import dataclass

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.launch.container_name import clear_name
from moet_boot.launch.container_process import ContainerProcess, hold_process
from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.docker_engine import DockerEngine, EngineSilentError
from moet_boot.launch.process import Clock

APPEAR_S = 5.0
"""How long the first process of a started container may take to be seen here."""


TAKE_BACK_S = 20.0
"""How long a failed start is taken back from an engine that does not answer: a restarted daemon needs 10 s and more."""


@dataclass(frozen=True)
class Started:
    """A container that was started. `process` is None when it ended before it could be seen."""

    id: str
    process: ContainerProcess | None
    notice: str
    """What was cleared away for it, or ""."""


def start_container(engine: DockerEngine, request: ContainerRequest, clock: Clock) -> Started:
    """Create and start it; a stale one of a moet-boot that has ended is removed before.

    Raises BusyError when the name belongs to somebody else, ArtefactMissingError when image or a mounted path is
    missing, MoetBootError when the engine refuses or runs elsewhere. Nothing is left behind then.
    """
    _check_image(engine, request)
    notice = clear_name(engine, request.name, clock)
    container = engine.create(request)
    try:
        engine.start(container)
        return Started(container, _first_process(engine, container, clock), notice)
    except MoetBootError as error:
        if _take_back(engine, container, clock):
            raise
        raise MoetBootError(
            f"{error.what}; it may still start the container {request.name}, which nobody would guard",
            fix=f"as soon as it answers again: docker rm -f {request.name}",
        ) from error
    except BaseException:
        _take_back(engine, container, clock)
        raise


def _take_back(engine: DockerEngine, container: str, clock: Clock) -> bool:
    """Remove a container that may or may not have started; False when the engine answered nobody for too long."""
    deadline = clock.now() + TAKE_BACK_S
    while True:
        try:
            engine.remove(container)
        except EngineSilentError:
            if clock.now() >= deadline:
                return False
            clock.sleep(0.5)
        else:
            return True


def _check_image(engine: DockerEngine, request: ContainerRequest) -> None:
    reference, arch, digest = request.image, request.image_arch, request.image_digest
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
    if digest is not None and digest not in image.digests:
        raise MoetBootError(
            f"the image {reference} is {image.digests[0] if image.digests else 'of an unknown digest'}, not {digest}",
            fix="somebody gave the name to another image: `moet-boot preflight` says what to do",
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
