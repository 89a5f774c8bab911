"""/proc/self/mountinfo: what is mounted where."""

from dataclasses import dataclass
from pathlib import PurePath

from moet_boot.machine.tree import unescape


@dataclass(frozen=True)
class Mount:
    """One line: the part `root` of a filesystem is seen at `point`; `device` is major:minor."""

    device: str
    root: str
    point: str
    fstype: str
    source: str
    options: str


def parse_mountinfo(text: str) -> list[Mount]:
    """All mounts in the order they were made; lines of another form are left out (proc(5))."""
    return [mount for mount in map(_line, text.splitlines()) if mount is not None]


def _line(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    left, right = before.split(), after.split()
    if not separator or len(left) < 6 or len(right) < 3:  # noqa: PLR2004  (proc(5) names six and three fields)
        return None
    return Mount(
        device=left[2],
        root=unescape(left[3]),
        point=unescape(left[4]),
        fstype=right[0],
        source=unescape(right[1]),
        options=right[2],
    )


def mount_of(path: PurePath, mounts: list[Mount]) -> Mount | None:
    """The mount that a resolved path lies on: the longest mount point, and of several there the last one."""
    best: Mount | None = None
    for mount in mounts:
        if path.is_relative_to(mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best
