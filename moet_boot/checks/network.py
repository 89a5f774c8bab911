"""The server's port: NET.PORT, NET.EXPOSURE."""

import ipaddress

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, warn
from moet_boot.forecast.asked import argument
from moet_boot.machine.snapshot import Port

WILDCARDS = frozenset({"", "*", "0.0.0.0", "::", "[::]"})  # noqa: S104  (compared with, not bound)


@check("NET.PORT", "the port is free", needs=("ports_in_use",))
def port(case: Case) -> Answer:
    """Who listens on the port of the plan; the server would find out after minutes of loading."""
    taken = [p for p in case.snapshot.ports_in_use or [] if p.port == case.plan.port and _meets(case.plan.host, p)]
    if not taken:
        return passed(f"port {case.plan.port} is free")
    owner = taken[0].container or taken[0].process
    by = f"{'container ' if taken[0].container else ''}{owner}" if owner else "somebody whose name this user cannot see"
    pid = f" (pid {taken[0].pid})" if taken[0].pid else ""
    measured, required = f"port {case.plan.port} is taken by {by}{pid}", f"port {case.plan.port} free"
    if _is_orphan(case, taken[0].container):
        return warn(
            f"{measured}, which lost its moet-boot",
            required,
            why="nobody guards it; the next serve ends it before it looks at the port",
            fix="moet-boot serve, or moet-boot stop",
        )
    return refuse(
        measured,
        required,
        why="on the host's network the engine finds out only after it has loaded for minutes",
        fix=f"choose another: --set port={_other(case)}, or stop {owner or 'the owner'} yourself if it may go",
    )


def _is_orphan(case: Case, container: str | None) -> bool:
    docker = case.snapshot.docker
    return any(found.orphan and found.name == container for found in docker.containers) if docker else False


def _meets(host: str, other: Port) -> bool:
    """Whether two listeners on one port collide: wildcards with all, else only equal addresses."""
    theirs = other.address
    if theirs is None or host in WILDCARDS or theirs in WILDCARDS or theirs == host:
        return True
    return is_loopback(host) and is_loopback(theirs)


def _other(case: Case) -> int:
    used = {p.port for p in case.snapshot.ports_in_use or []}
    return next(number for number in range(case.plan.port + 1, case.plan.port + 1000) if number not in used)


@check("NET.EXPOSURE", "who can reach the server")
def exposure(case: Case) -> Answer:
    """Listening beyond loopback without an API key."""
    host = case.plan.host
    if is_loopback(host):
        return passed(f"{host} is this machine only")
    if argument(case.plan, "--api-key") or case.plan.env.get("VLLM_API_KEY"):
        return passed(f"{host or 'all addresses'}, behind an API key")
    return warn(
        f"listens on {host or 'all addresses'} without an API key",
        "loopback, or an API key",
        why="everybody on the network can use the model, and read what it is asked on a plain HTTP port",
        fix="--set host=127.0.0.1 and a proxy before it, or VLLM_API_KEY",
    )


def is_loopback(host: str) -> bool:
    """Whether an address reaches no further than this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


CHECKS: tuple[Check, ...] = (port, exposure)
