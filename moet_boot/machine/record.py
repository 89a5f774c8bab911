"""Record this machine: every reader at once, each with a deadline, each failure as data."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from moet_boot.errors import MoetBootError
from moet_boot.machine.artefact_files import with_layers
from moet_boot.machine.bounded import result_by, start_reading
from moet_boot.machine.container_members import gpus_with_containers, names_by_pid, ports_with_containers
from moet_boot.machine.readers import Reader, readers_for
from moet_boot.machine.request import SnapshotRequest
from moet_boot.machine.snapshot import SCHEMA, Container, Snapshot
from moet_boot.machine.tree import Tree, UnreadError


def record(request: SnapshotRequest | None = None, tree: Tree | None = None) -> Snapshot:
    """The machine now, as far as it can be seen. Raises nothing: `errors` says what could not be read and why.

    Takes as long as the slowest reader, and no longer than the longest deadline. Paths stand as they were
    given; `anonymous` takes out what identifies before a snapshot leaves the machine.
    """
    request, tree = request or SnapshotRequest(), tree or Tree()
    groups, errors = collect(readers_for(request, tree))
    return assemble(groups, errors, request, tree)


def collect(
    readers: Iterable[Reader], clock: Callable[[], float] = time.monotonic
) -> tuple[dict[str, Any], dict[str, str]]:
    """Run all readers side by side; what they gave by group, and by name why others gave nothing."""
    started = clock()
    running = [(reader, start_reading(reader.read)) for reader in readers]
    groups: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for reader, future in running:
        try:
            value = result_by(future, started + reader.deadline_s - clock(), reader.deadline_s)
        except Exception as failure:  # noqa: BLE001  (whatever a reader meets is data, foreseen or not)
            errors[reader.name] = reason(failure)
        else:
            _put(groups, reader, value)
    return groups, errors


def assemble(groups: dict[str, Any], errors: dict[str, str], request: SnapshotRequest, tree: Tree) -> Snapshot:
    """One snapshot of what the readers gave; what two of them know only together is joined here."""
    facts = dict(groups)
    stores, docker = facts.pop("stores", None), facts.get("docker")
    if "files" in facts:
        kinds = {place.name: place.kind for place in request.places}
        found = facts["files"].values()
        facts["files"] = [with_layers(file, stores.of(kinds[file.name])) if stores else file for file in found]
    if docker is not None and docker.containers:
        _join_containers(facts, docker.containers, tree)
    return Snapshot(schema_=SCHEMA, errors=errors, **facts)


def _join_containers(facts: dict[str, Any], containers: list[Container], tree: Tree) -> None:
    name_of = names_by_pid(tree, containers)
    if "ports_in_use" in facts:
        facts["ports_in_use"] = ports_with_containers(facts["ports_in_use"], containers, name_of)
    if "nvml" in facts:
        facts["nvml"] = gpus_with_containers(facts["nvml"], name_of)


def reason(failure: BaseException) -> str:
    """One line on why a reading failed."""
    if isinstance(failure, MoetBootError):
        return failure.what
    if isinstance(failure, ValidationError):
        return failure.errors()[0]["msg"].removeprefix("Value error, ")
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.filename}: {failure.strerror}" if failure.filename else failure.strerror
    return str(failure) if isinstance(failure, UnreadError) else f"{type(failure).__name__}: {failure}"


def _put(groups: dict[str, Any], reader: Reader, value: object) -> None:
    if reader.key is None:
        groups[reader.group] = value
    else:
        groups.setdefault(reader.group, {})[reader.key] = value
