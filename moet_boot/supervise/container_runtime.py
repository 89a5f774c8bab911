"""One attempt with the server in a container."""

from contextlib import closing

from moet_boot.errors import MoetBootError
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.container_name import clear_orphan
from moet_boot.launch.docker_engine import EngineSilentError, connect
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.plan import LaunchPlan
from moet_boot.launch.process import SystemClock
from moet_boot.supervise.attempt_end import AttemptEnd
from moet_boot.supervise.one_attempt import Supervision, run_attempt
from moet_boot.supervise.patience import Patience
from moet_boot.supervise.real_clock import ImpatientClock


def clear_for_container(plan: LaunchPlan, pull: bool) -> list[str]:
    """End a container that runs without its moet-boot, and fetch a missing image if `pull`; says what was done.

    Before the preflight: an unguarded server holds the memory that it judges. Without an engine nothing is done,
    and the preflight says why. Raises MoetBootError when the image cannot be fetched.
    """
    options = plan.container
    if options is None:
        return []
    try:
        engine = connect()
    except EngineSilentError:
        return []
    with closing(engine):
        words = [clear_orphan(engine, options.name, SystemClock())]
        if pull and engine.image(options.image) is None:
            engine.pull(options.image, options.image_arch)
            words.append(f"fetched the image {options.image}")
    return [each for each in words if each]


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
    )
    return run_attempt(shared, server, number, leashed=False, patience=patience)
