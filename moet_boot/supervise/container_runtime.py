"""One attempt with the server in a container."""

from collections.abc import Iterator
from contextlib import closing

from moet_boot.errors import MoetBootError
from moet_boot.launch.belongings import Record
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.container_name import clear_orphans
from moet_boot.launch.docker_engine import ANSWER_S, EngineSilentError, connect
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.plan import LaunchPlan
from moet_boot.launch.process import SystemClock
from moet_boot.supervise.attempt_end import AttemptEnd
from moet_boot.supervise.one_attempt import Supervision, run_attempt
from moet_boot.supervise.patience import Patience
from moet_boot.supervise.real_clock import ImpatientClock

PULL_SILENCE_S = 300.0
"""A pull is silent while the network stalls, and while a large layer is checked or written."""


def end_orphans() -> list[str]:
    """End containers that run without their moet-boot; says what was done. Without an engine nothing is done.

    Raises UsageError when the Docker SDK is not installed.
    """
    try:
        engine = connect(ANSWER_S)
    except EngineSilentError:
        return []
    with closing(engine):
        return clear_orphans(engine, SystemClock())


def fetch_image(plan: LaunchPlan) -> Iterator[str]:
    """Fetch the image of a plan if it is missing; says what it does. Raises MoetBootError when it cannot be fetched.

    Without an engine nothing is done, and the preflight says why.
    """
    options = plan.container
    if options is None:
        return
    try:
        engine = connect(PULL_SILENCE_S)
    except EngineSilentError:
        return
    with closing(engine):
        if engine.image(options.image) is None:
            yield f"fetching the image {options.image}; that takes as long as its size and the network need"
            engine.pull(options.image, options.image_arch)
            yield f"fetched the image {options.image}"


def container_attempt(shared: Supervision, number: int) -> AttemptEnd:
    """Run one attempt in a container that moet-boot creates."""
    docker = shared.prepared.snapshot.docker
    if docker is None or not docker.present:
        raise MoetBootError("no Docker engine answered", fix="start it, or use --runtime process")
    patience = Patience(shared.signals)
    server = ContainerServer(
        shared.prepared.plan,
        docker,
        LogFile(shared.log_path(number)),
        clock=ImpatientClock(patience.lost, shared.look),
        record=Record(),
    )
    return run_attempt(shared, server, number, leashed=False, patience=patience)
