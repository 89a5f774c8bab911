"""A control group (v2) of the server's own, where this user may make one: its members cannot leave by forking.

It is an extra: inside containers, without delegation or on v1 there is none, and the process tree does the work.
"""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

_MOUNT = re.compile(r"^\S+ (?P<where>\S+) cgroup2 ", re.MULTILINE)
_OWN = re.compile(r"^0::(?P<path>/.*)$", re.MULTILINE)


class ControlGroup:
    """One group below our own, made for one server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, pid: int) -> None:
        """Move a process (and what it will fork) into the group. Raises OSError."""
        (self.folder / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")

    def pids(self) -> set[int]:
        """The processes in the group now; empty once it is gone."""
        with suppress(OSError):
            return {int(line) for line in (self.folder / "cgroup.procs").read_text(encoding="ascii").split()}
        return set()

    def kill(self) -> bool:
        """SIGKILL to all at once by the kernel; False where it cannot (before Linux 5.14)."""
        try:
            (self.folder / "cgroup.kill").write_text("1\n", encoding="ascii")
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Remove the empty group; one that still has members stays."""
        with suppress(OSError):
            self.folder.rmdir()


def make_control_group(name: str = "", mounts: Path = Path("/proc/mounts")) -> ControlGroup | None:
    """A new group below the one that this process is in, or None where that is not possible."""
    try:
        mount = _MOUNT.search(mounts.read_text(encoding="utf-8"))
        own = _OWN.search(mounts.with_name("self").joinpath("cgroup").read_text(encoding="utf-8"))
        if mount is None or own is None:
            return None
        folder = Path(mount["where"]) / own["path"].lstrip("/") / f"moet-boot-{name or secrets.token_hex(4)}"
        folder.mkdir()
    except OSError:
        return None
    if not os.access(folder / "cgroup.procs", os.W_OK):
        ControlGroup(folder).remove()
        return None
    return ControlGroup(folder)
