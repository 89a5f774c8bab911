"""Which container a process runs in, by the container's id in the path of its control group."""

import re
from collections.abc import Callable

from moet_boot.machine.facts.containers import Container
from moet_boot.machine.facts.gpu import Gpu, Nvml
from moet_boot.machine.facts.host import Port
from moet_boot.machine.tree import Tree

ID_DIGITS = 12
_ID = re.compile(r"(?:docker|libpod|crio|cri-containerd)?[-/]([0-9a-f]{64})\b")

NameOf = Callable[[int], str | None]


def container_id(tree: Tree, pid: int) -> str | None:
    """The short id of the container that a process runs in, None for a process of the host."""
    found = _ID.search(tree.text_or_none(f"/proc/{pid}/cgroup") or "")
    return found.group(1)[:ID_DIGITS] if found else None


def names_by_pid(tree: Tree, containers: list[Container]) -> NameOf:
    """From a pid to the name of its container; None for processes of the host and for unknown ones."""
    names: dict[str | None, str] = {found.id: found.name for found in containers if found.id}
    return lambda pid: names.get(container_id(tree, pid)) if names else None


def ports_with_containers(ports: list[Port], containers: list[Container], name_of: NameOf) -> list[Port]:
    """The ports with the containers behind them, also those that no process listens for (no userland proxy)."""
    publisher = {port: container.name for container in containers for port in container.ports}
    known = [
        port.model_copy(update={"container": publisher.get(port.port) or (name_of(port.pid) if port.pid else None)})
        for port in ports
    ]
    silent = publisher.keys() - {port.port for port in ports}
    return known + [Port(port=port, container=publisher[port]) for port in sorted(silent)]


def gpus_with_containers(nvml: Nvml, name_of: NameOf) -> Nvml:
    """The GPUs with the containers that their processes run in."""

    def named(gpu: Gpu) -> Gpu:
        processes = [process.model_copy(update={"container": name_of(process.pid)}) for process in gpu.processes]
        return gpu.model_copy(update={"processes": processes})

    return nvml.model_copy(update={"gpus": [named(gpu) for gpu in nvml.gpus]})
