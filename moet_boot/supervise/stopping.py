"""Stopping a server that another moet-boot process supervises."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.launch.sweep import sweep_abandoned
from moet_boot.supervise.container_runtime import end_orphans
from moet_boot.supervise.status import Found, all_status, nobody_runs, remove_status
from moet_boot.units import format_seconds

LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Stopped:
    """What the stop found and did."""

    words: str
    port: int | None = None
    seconds: float = 0.0


def stop_server(
    port: int | None,
    timeout_s: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Stopped:
    """Ask the supervisor of the server on `port` (or of the only one) to stop, and wait for its end.

    Raises UsageError when several run and none was named, MoetBootError when it does not end in time.
    """
    for dead in [f for f in all_status() if not f.alive]:
        remove_status(dead.status.port)
    running = [f for f in all_status() if f.alive and port in {None, f.status.port}]
    if not running:
        return Stopped("; ".join([*sweep_abandoned(), *_orphans(), nobody_runs(port)]), port)
    if len(running) > 1:
        ports = ", ".join(str(f.status.port) for f in running)
        raise UsageError(f"{len(running)} servers run, on the ports {ports}", fix="name one with --port")
    return _stop(running[0], timeout_s, clock, sleep)


def _orphans() -> list[str]:
    """Containers that lost their moet-boot, ended; who has not installed the Docker SDK has started none."""
    with suppress(UsageError):
        return end_orphans()
    return []


def _stop(found: Found, timeout_s: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> Stopped:
    status = found.status
    started = clock()
    try:
        supervisor = psutil.Process(status.supervisor_pid)
        supervisor.send_signal(signal.SIGTERM)
    except psutil.NoSuchProcess:
        return Stopped("it ended by itself just now", status.port)
    except psutil.AccessDenied as error:
        raise MoetBootError(
            f"the supervisor {status.supervisor_pid} belongs to another user",
            fix="run the stop as that user or as root",
        ) from error
    while supervisor.is_running() and supervisor.status() != psutil.STATUS_ZOMBIE:
        if clock() - started > timeout_s:
            raise MoetBootError(
                f"the supervisor {status.supervisor_pid} did not end within {timeout_s:g} s",
                fix=f"last resort: kill -9 {status.supervisor_pid}, and the guard stops the server",
            )
        sleep(LOOK_SECONDS)
    seconds = clock() - started
    return Stopped(f"stopped {status.profile} on port {status.port} in {format_seconds(seconds)}", status.port, seconds)
