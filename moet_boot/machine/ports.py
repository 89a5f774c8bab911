"""Which TCP ports something listens on."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address

import psutil

from moet_boot.machine.facts.host import Port
from moet_boot.machine.process_names import process_name
from moet_boot.machine.tree import Tree


@dataclass(frozen=True)
class Listener:
    """A listening socket; `pid` is None where its owner is not ours to see."""

    port: int
    ip: str
    pid: int | None


def reach(ip: str) -> str:
    """The address if it says nothing about the machine (a wildcard or loopback), else `specific`."""
    address = ip_address(ip.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or address
    return str(mapped) if mapped.is_unspecified or mapped.is_loopback else "specific"


def pick_ports(listeners: Iterable[Listener], name_of: Callable[[int], str | None]) -> list[Port]:
    """The ports in order, each address once, with the names of the processes that own them."""
    unique = {(listener.port, reach(listener.ip), listener.pid) for listener in listeners}
    return [
        Port(port=port, address=address, pid=pid, process=name_of(pid) if pid else None)
        for port, address, pid in sorted(unique, key=lambda found: (found[0], found[1], found[2] or 0))
    ]


def read_ports(tree: Tree) -> list[Port]:
    return pick_ports(_listeners(), lambda pid: process_name(tree, pid))


def _listeners() -> Iterator[Listener]:
    for row in psutil.net_connections(kind="tcp"):
        if row.status == psutil.CONN_LISTEN and row.laddr:
            yield Listener(row.laddr.port, row.laddr.ip, row.pid)
