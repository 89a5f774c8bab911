"""Which readers there are, and how long each may take."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from moet_boot.machine import host
from moet_boot.machine.artefact_files import read_plane_file, read_store
from moet_boot.machine.buddyinfo import read_buddyinfo
from moet_boot.machine.cgroup import read_cgroup
from moet_boot.machine.checkpoint import read_checkpoint
from moet_boot.machine.containers import read_docker
from moet_boot.machine.engine_command import read_engine
from moet_boot.machine.environment import pick_variables
from moet_boot.machine.filesystems import read_filesystem
from moet_boot.machine.gpu import read_gpus
from moet_boot.machine.kernel_log import read_kernel_log
from moet_boot.machine.last_boot import read_last_boot
from moet_boot.machine.limits import read_limits
from moet_boot.machine.meminfo import read_meminfo
from moet_boot.machine.ports import read_ports
from moet_boot.machine.pressure import read_pressure
from moet_boot.machine.processes import read_processes
from moet_boot.machine.request import Place, SnapshotRequest
from moet_boot.machine.stores import read_stores
from moet_boot.machine.swaps import read_swaps
from moet_boot.machine.sysctl import read_sysctl, read_thp
from moet_boot.machine.tree import Tree
from moet_boot.machine.vmstat import read_vmstat
from moet_boot.profile.model import ArtefactKind

QUICK_S = 3.0
DOCKER_S = 5.0
FILES_S = 15.0
"""A checkpoint's 46 headers and a cache's 260 sizes, cold, over a network."""

NVML_S = 20.0
"""Without the persistence daemon the first call initializes every card, some seconds each."""

ROLES = {
    ArtefactKind.CHECKPOINT: "model",
    ArtefactKind.PLANE_FILE: "plane",
    ArtefactKind.PLANES_CACHE: "plane",
    ArtefactKind.PACK_STORE: "store",
}
"""Kind of an artefact -> the key of its filesystem in the snapshot's `fs` group."""

SYSTEM_PATHS = {"root": "/", "shm": "/dev/shm"}  # noqa: S108  (looked at, not written)


@dataclass(frozen=True)
class Reader:
    """One reading: the group that it fills, or the entry `key` of a group of several."""

    group: str
    read: Callable[[], Any]
    deadline_s: float = QUICK_S
    key: str | None = None

    @property
    def name(self) -> str:
        """How `errors` calls it."""
        return self.group if self.key is None else f"{self.group}.{self.key}"


def readers_for(request: SnapshotRequest, tree: Tree) -> list[Reader]:
    """Every reader that this request needs, the slow ones first."""
    return [*_slow_readers(request, tree), *_place_readers(request, tree), *_system_readers(tree)]


def _slow_readers(request: SnapshotRequest, tree: Tree) -> Iterator[Reader]:
    yield Reader("nvml", partial(read_gpus, tree, NVML_S), NVML_S + QUICK_S)
    docker = partial(read_docker, tree, request.image, request.container, DOCKER_S)
    yield Reader("docker", docker, DOCKER_S + QUICK_S)
    yield Reader("vmstat", partial(read_vmstat, tree))
    if request.stores is not None:
        yield Reader("stores", partial(read_stores, request.stores), FILES_S)


def _place_readers(request: SnapshotRequest, tree: Tree) -> Iterator[Reader]:
    for place in request.places:
        yield _artefact_reader(place)
    if request.engine_command:
        yield Reader("engine", partial(read_engine, request.engine_command))
    paths = SYSTEM_PATHS | {ROLES[place.kind]: place.path for place in reversed(request.places)}
    for role, path in paths.items():
        yield Reader("fs", partial(read_filesystem, tree, path), key=role)


def _artefact_reader(place: Place) -> Reader:
    if place.kind is ArtefactKind.CHECKPOINT:
        return Reader("checkpoint", partial(read_checkpoint, place.path), FILES_S)
    read = read_plane_file if place.kind is ArtefactKind.PLANE_FILE else read_store
    return Reader("files", partial(read, place.name, place.path), FILES_S, key=place.name)


def _system_readers(tree: Tree) -> Iterator[Reader]:
    yield Reader("meminfo", partial(read_meminfo, tree))
    yield Reader("swaps", partial(read_swaps, tree))
    yield Reader("pressure", partial(read_pressure, tree))
    yield Reader("buddyinfo", partial(read_buddyinfo, tree))
    yield Reader("sysctl", partial(read_sysctl, tree))
    yield Reader("thp", partial(read_thp, tree))
    yield Reader("cgroup", partial(read_cgroup, tree))
    yield Reader("limits", partial(read_limits, tree))
    yield Reader("arch", host.read_arch)
    yield Reader("cpus", host.read_cpus)
    yield Reader("kernel", partial(host.read_kernel, tree))
    yield Reader("cmdline", partial(host.read_cmdline, tree))
    yield Reader("os", partial(host.read_os, tree))
    yield Reader("uptime_s", partial(host.read_uptime, tree))
    yield Reader("clock", host.read_clock)
    yield Reader("last_boot", partial(read_last_boot, tree))
    yield Reader("kernel_log", partial(read_kernel_log, tree))
    yield Reader("processes", read_processes)
    yield Reader("ports_in_use", partial(read_ports, tree))
    yield Reader("env", partial(pick_variables, os.environ))
