"""Whether somebody already serves where a plan wants to serve: our own healthy server, or somebody else."""

import socket
from collections.abc import Callable
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from moet_boot.errors import BusyError
from moet_boot.launch.plan import LaunchPlan
from moet_boot.places import made, runtime_dir
from moet_boot.supervise.effects import Probe
from moet_boot.supervise.status import Status, read_status


def own_server(plan: LaunchPlan, probe: Callable[[], Probe]) -> Status | None:
    """Our own healthy server on the plan's port, or None when no moet-boot supervises one there.

    Raises BusyError when our own server there is not ready, or is another one.
    """
    found = read_status(plan.port)
    ours = found.status if found is not None and found.alive else None
    if ours is None:
        return None
    name = f"moet-boot already supervises {ours.profile} on port {plan.port} (pid {ours.supervisor_pid})"
    if not ours.ready:
        raise BusyError(f"{name}, in the phase '{ours.phase}'", fix="wait for it, or run `moet-boot stop`")
    if ours.plan_digest != plan.digest:
        raise BusyError(f"{name} with another plan", fix="run `moet-boot stop` first, or choose another port")
    answer = probe()
    if not answer.ok:
        raise BusyError(f"{name}, but it does not answer ({answer.step}: {answer.fault})", fix="run `moet-boot stop`")
    return ours


def refuse_taken_port(plan: LaunchPlan) -> None:
    """Raise BusyError when something listens where the plan's server will."""
    if not port_is_free(plan.host, plan.port):
        raise BusyError(
            f"port {plan.port} is taken by {owner_of(plan.port)}, not by a server of moet-boot",
            fix="stop that program, or choose another port with --set port=N",
        )


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as attempt:
        # past connections in TIME_WAIT do not count; a listener does
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((host, port))
        except OSError:
            return False
    return True


def owner_of(port: int) -> str:
    """Who listens on a port, in words; other users' processes are named to root only."""
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        pids = {c.pid for c in listening if c.pid and getattr(c.laddr, "port", None) == port}
        names = sorted(f"{psutil.Process(pid).name()} (pid {pid})" for pid in pids)
    except psutil.Error:
        names = []
    return ", ".join(names) or "another program"


def hold_port(port: int, folder: Path | None = None) -> FileLock:
    """The lock of a port, held until it is released: two supervisors never start on the same one.

    Raises BusyError when another process holds it.
    """
    path = made(folder or runtime_dir()) / f"serve-{port}.lock"
    lock = FileLock(path, mode=0o644)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BusyError(
            f"another moet-boot is starting a server on port {port} (lock {path})",
            fix="wait for it, or see `moet-boot status`",
        ) from error
    return lock
