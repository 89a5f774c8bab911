"""Makes way for a container: a stale one of ours goes, anybody else's stays."""

from moet_boot.errors import BusyError
from moet_boot.launch.docker_engine import ContainerState, DockerEngine
from moet_boot.launch.process import Clock
from moet_boot.machine.container_labels import SUPERVISOR_LABEL
from moet_boot.machine.supervisor_mark import Owner, is_gone, own_mark, owner_of

TERM_WAIT_S = 5.0
"""A stale server has no guard: it gets a moment to remove its shared memory, no more."""


def clear_name(engine: DockerEngine, name: str, clock: Clock) -> str:
    """Remove the container of this name if no running moet-boot owns it; says so if it still ran, else "".

    Raises BusyError when somebody made it by hand, or when the moet-boot that made it still runs or cannot be seen.
    """
    found = engine.find(name)
    if found is None:
        return ""
    mark = found.labels.get(SUPERVISOR_LABEL)
    if mark is None:
        raise BusyError(
            f"a container named {name} exists ({found.status}), and moet-boot did not start it",
            fix=f"look at it with `docker inspect {name}`, then rename or remove it",
        )
    owner = owner_of(mark)
    if owner in {Owner.ALIVE, Owner.UNSEEN} or (owner is Owner.ELSEWHERE and found.running):
        raise BusyError(
            f"the container {name} ({found.status}) belongs to {owner.value} (mark {mark})",
            fix="stop that one first: moet-boot stop",
        )
    _end(engine, found, clock)
    engine.remove(found.id)
    return f"ended the container {found.name}, which {owner.value} had left running" if found.running else ""


def clear_orphans(engine: DockerEngine, clock: Clock) -> list[str]:
    """End and remove every container that runs without the moet-boot that started it; says what was done.

    Whatever their names: nobody guards them, and they hold memory and ports.
    """
    words = []
    for container in engine.running_with(SUPERVISOR_LABEL):
        found = engine.find(container)
        if found is not None and found.running and is_gone(found.labels.get(SUPERVISOR_LABEL, own_mark())):
            words.append(clear_name(engine, found.id, clock))
    return words


def _end(engine: DockerEngine, found: ContainerState, clock: Clock) -> None:
    """Ask a stale server to end; removing it kills whatever is left."""
    if not found.running:
        return
    engine.signal(found.id, "SIGTERM")
    deadline = clock.now() + TERM_WAIT_S
    while clock.now() < deadline:
        now = engine.find(found.id)
        if now is None or not now.running:
            return
        clock.sleep(0.1)
