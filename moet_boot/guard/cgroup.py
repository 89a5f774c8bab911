"""Control groups: ending all of a group at once, whether the kernel has cgroup.kill (v2) or a freezer (v1)."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from moet_boot.errors import MoetBootError

_MOUNTS = Path("/proc/self/mountinfo")
_FREEZE_WAIT_S = 0.05


class Cgroup:
    """A group whose processes may be killed together, its files opened beforehand.

    `keep`: pids that must live; a group that holds one of them (the guard, the supervisor, pid 1) is refused with
    MoetBootError, as is a folder that is no cgroup or may not be written.
    """

    def __init__(self, path: Path, keep: Iterable[int] = ()) -> None:
        self.path = path
        inside = {1, os.getpid(), *keep} & set(group_pids(path))
        if inside:
            raise MoetBootError(
                f"the cgroup {path} holds processes that must live (pids {sorted(inside)})",
                fix="give the server a cgroup of its own",
            )
        name = next((n for n in ("cgroup.kill", "freezer.state") if (path / n).exists()), None)
        if name is None:
            raise MoetBootError(
                f"{path} has neither cgroup.kill nor freezer.state", fix="name a cgroup v2 folder, or a v1 freezer"
            )
        try:
            self._fd = os.open(path / name, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            raise MoetBootError(f"cannot write {path / name}: {error.strerror}", fix="run moet-boot as root") from error
        self._kills = name == "cgroup.kill"

    def kill(self) -> bool:
        """SIGKILL everybody in the group and below; False when the kernel refused."""
        try:
            if self._kills:
                os.write(self._fd, b"1")
            else:
                self._kill_frozen()
        except OSError:
            return False
        return True

    def pids(self) -> list[int]:
        """Who is in the group and below it now."""
        return group_pids(self.path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _kill_frozen(self) -> None:
        """Signal at once; then again with everybody frozen, so that nobody forks away between look and signal."""
        self._kill_all()
        os.write(self._fd, b"FROZEN")
        try:
            deadline = time.monotonic() + _FREEZE_WAIT_S
            while (self.path / "freezer.state").read_bytes() == b"FREEZING\n" and time.monotonic() < deadline:
                os.write(self._fd, b"FROZEN")
            self._kill_all()
        finally:
            os.write(self._fd, b"THAWED")  # only a thawed process can die

    def _kill_all(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def group_pids(path: Path) -> list[int]:
    """The pids in a group and in all groups below it; empty when there is no such group."""
    found: list[int] = []
    for procs in (path / "cgroup.procs", *path.rglob("cgroup.procs")):
        try:
            found.extend(int(line) for line in procs.read_text().split())
        except OSError:
            continue
    return list(dict.fromkeys(found))


def _hierarchies() -> list[tuple[str, Path]]:
    """(kind, mount point) of what can end a group: `v2` first, then the v1 `freezer`."""
    found: list[tuple[str, Path]] = []
    for line in _MOUNTS.read_text().splitlines():
        fields, _, tail = line.partition(" - ")
        kind, _, options = tail.split()[:3]
        mount = Path(fields.split()[4])
        if kind == "cgroup2":
            found.insert(0, ("v2", mount))
        elif kind == "cgroup" and "freezer" in options.split(","):
            found.append(("freezer", mount))
    return found


def _group_of(pid: int | str, kind: str) -> str | None:
    """The path of a process's group inside one hierarchy."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (kind == "v2" and not controllers) or kind in controllers.split(","):
            return path
    return None


def create_cgroup(name: str) -> Path | None:
    """A new group below our own, v2 if possible; None where none may be made."""
    for kind, mount in _hierarchies():
        own = _group_of("self", kind)
        if own is None:
            continue
        path = mount / own.lstrip("/") / name
        try:
            path.mkdir()
        except OSError:
            continue
        if (path / "cgroup.kill").exists() or (path / "freezer.state").exists():
            return path
        path.rmdir()
    return None


def find_cgroup(pid: int, container_id: str) -> Path | None:
    """The group of a container, found through one of its processes; None unless it bears the container's id."""
    for kind, mount in _hierarchies():
        try:
            group = _group_of(pid, kind)
        except OSError:
            return None
        path = mount / (group or "").lstrip("/")
        while container_id and container_id in str(path):
            if container_id in path.name and any((path / n).exists() for n in ("cgroup.kill", "freezer.state")):
                return path
            path = path.parent
    return None


def remove_cgroup(path: Path) -> bool:
    """Remove an empty group; False while anybody is left in it."""
    try:
        path.rmdir()
    except OSError:
        return False
    return True
