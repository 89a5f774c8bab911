"""The status of a running server, on disk for `status` and `stop`: one small file per port."""

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moet_boot.guard.processes import read_process
from moet_boot.places import made, runtime_dir
from moet_boot.receipts.model import CurvePoint

SAME_START_S = 0.005
"""Half a clock tick: what the kernel says of one process is always the same."""


class Status(BaseModel):
    """What a supervisor says about its server. Times are seconds since the epoch, sizes bytes.

    `supervisor_start`: seconds since the machine's boot, as `process_start` tells.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    schema_: str = Field(default="moet-boot/status/v1", alias="schema")
    profile: str
    variant: str | None = None
    url: str
    port: int
    served_name: str = ""
    plan_digest: str = ""
    receipt: str
    runtime: str = "process"
    container: str | None = None
    supervisor_pid: int
    supervisor_start: float
    server_pid: int | None = None
    phase: str
    ready: bool = False
    started_at: float
    updated_at: float
    restarts: int = 0
    available_bytes: int | None = None
    lowest_available_bytes: int | None = None
    floor_bytes: int | None = None
    endpoints_port: int | None = None
    recent: list[CurvePoint] = []
    note: str = ""


@dataclass(frozen=True)
class Found:
    """A status file; `alive` says whether its supervisor still runs."""

    status: Status
    path: Path
    alive: bool


def nobody_runs(port: int | None = None) -> str:
    """What to say when no server was found: root's status files are not among those of another user."""
    words = "no server of moet-boot runs here" + (f" on port {port}" if port else "")
    return words if os.geteuid() == 0 else f"{words} for this user; what root started is seen with sudo"


def process_start(pid: int) -> float | None:
    """When a process started, in seconds since the machine's boot; None when none runs, a zombie included.

    Not since the epoch: that figure moves when the clock is set, and a server that runs would look dead.
    """
    found = read_process(pid)
    return None if found is None or found.state == "Z" else found.start / os.sysconf("SC_CLK_TCK")


def is_same_process(pid: int, start: float) -> bool:
    """Whether the process that started then still runs: a pid alone may have been given to somebody else since."""
    now = process_start(pid)
    return now is not None and abs(now - start) < SAME_START_S


def status_path(port: int, folder: Path | None = None) -> Path:
    """The status file of the server on a port."""
    return (folder or runtime_dir()) / f"serve-{port}.json"


def write_status(status: Status, folder: Path | None = None) -> None:
    """Replace the status file in one step."""
    path = status_path(status.port, folder)
    made(path.parent)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(status.model_dump_json(by_alias=True), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_status(port: int, folder: Path | None = None) -> None:
    """Forget a server; fine when there is nothing to forget."""
    status_path(port, folder).unlink(missing_ok=True)


def read_status(port: int, folder: Path | None = None) -> Found | None:
    """The server on a port, or None when no readable status says so."""
    return _read(status_path(port, folder))


def all_status(folder: Path | None = None) -> list[Found]:
    """All servers that a status file speaks of, by port."""
    root = folder or runtime_dir()
    found = [_read(path) for path in sorted(root.glob("serve-*.json"))] if root.is_dir() else []
    return [f for f in found if f is not None]


def _read(path: Path) -> Found | None:
    try:
        status = Status.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return Found(status, path, is_same_process(status.supervisor_pid, status.supervisor_start))
