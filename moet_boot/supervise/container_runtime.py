"""One attempt with the server in a container."""

from moet_boot.errors import MoetBootError
from moet_boot.launch.container import ContainerServer
from moet_boot.launch.log_file import LogFile
from moet_boot.supervise.attempt import AttemptEnd
from moet_boot.supervise.one_attempt import Supervision, run_attempt
from moet_boot.supervise.real_clock import ImpatientClock


def container_attempt(shared: Supervision, number: int) -> AttemptEnd:
    """Run one attempt in a container that moet-boot creates and removes."""
    docker = shared.prepared.snapshot.docker
    if docker is None or not docker.present:
        raise MoetBootError("no Docker engine answered", fix="start it, or use --runtime process")
    server = ContainerServer(
        shared.prepared.plan,
        docker,
        LogFile(shared.log_path(number)),
        clock=ImpatientClock(lambda: shared.signals.waiting),
    )
    return run_attempt(shared, server, number, leashed=False)
