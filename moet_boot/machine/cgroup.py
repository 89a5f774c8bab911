"""The memory limits of the control groups that this process is in, version 1 and 2."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from moet_boot.machine.facts.memory import Cgroup
from moet_boot.machine.mounts import Mount, parse_mountinfo
from moet_boot.machine.tree import Tree, UnreadError

Bound = int | Literal["max"]

V1_UNLIMITED = 1 << 62
"""Version 1 has no word for unlimited: it shows the largest page-aligned number, just below 2**63."""


@dataclass(frozen=True)
class Level:
    """One control group on the path, with its own limits and what it uses, in bytes."""

    path: str
    maximum: Bound
    high: Bound
    swap: Bound
    current: int | None

    @property
    def room(self) -> float:
        """Bytes that may still be charged to this level; infinite when it has no limit."""
        bound = tightest(self.maximum, self.high)
        return float("inf") if bound == "max" else bound - (self.current or 0)


@dataclass(frozen=True)
class Membership:
    """Which control group holds the memory of this process."""

    version: int
    path: str


def parse_membership(text: str) -> Membership:
    """/proc/self/cgroup: version 1 if a memory controller of that version exists, else version 2."""
    rows = [line.split(":", 2) for line in text.splitlines() if line.count(":") > 1]
    for _, controllers, path in rows:
        if "memory" in controllers.split(","):
            return Membership(1, path)
    for hierarchy, controllers, path in rows:
        if hierarchy == "0" and not controllers:
            return Membership(2, path)
    raise UnreadError("this process is in no memory control group")


def tightest(*bounds: Bound) -> Bound:
    """The smallest of some limits."""
    numbers = [bound for bound in bounds if bound != "max"]
    return min(numbers) if numbers else "max"


def combine(version: int, levels: list[Level]) -> Cgroup:
    """The limits that hold for the leaf: of each kind the tightest on the path from leaf to root."""
    nearest = min(levels, key=lambda level: level.room)
    return Cgroup(
        version=version,
        path=nearest.path,
        memory_max=tightest(*(level.maximum for level in levels)),
        memory_high=tightest(*(level.high for level in levels)),
        memory_current=nearest.current,
        memory_swap_max=tightest(*(level.swap for level in levels)),
    )


def read_cgroup(tree: Tree) -> Cgroup:
    """Raises UnreadError when no memory controller is mounted."""
    member = parse_membership(tree.text("/proc/self/cgroup"))
    mount = _controller(parse_mountinfo(tree.text("/proc/self/mountinfo")), member.version)
    read = _level_v1 if member.version == 1 else _level_v2
    levels = [
        read(tree, f"{mount.point}/{inner}".rstrip("/"), f"/{inner}")
        for inner in _path_upwards(member.path, mount.root)
    ]
    return combine(member.version, levels)


def _controller(mounts: list[Mount], version: int) -> Mount:
    for mount in mounts:
        if version == 1 and mount.fstype == "cgroup" and "memory" in mount.options.split(","):
            return mount
        if version != 1 and mount.fstype == "cgroup2":
            return mount
    raise UnreadError(f"no memory controller of cgroup version {version} is mounted")


def _path_upwards(path: str, mount_root: str) -> Iterator[str]:
    """The group and its parents as paths below the mount, leaf first and the mount itself (empty) last.

    In a container the mount shows a part of the host's hierarchy, or the group lies outside of what it shows:
    then the mount itself is all that can be seen.
    """
    inner = PurePosixPath(path)
    if mount_root != "/" and inner.is_relative_to(mount_root):
        inner = PurePosixPath("/") / inner.relative_to(mount_root)
    if ".." in inner.parts:
        inner = PurePosixPath("/")
    while inner.name:
        yield str(inner).lstrip("/")
        inner = inner.parent
    yield ""


def _level_v2(tree: Tree, folder: str, path: str) -> Level:
    return Level(
        path=path,
        maximum=_bound(tree, f"{folder}/memory.max"),
        high=_bound(tree, f"{folder}/memory.high"),
        swap=_bound(tree, f"{folder}/memory.swap.max"),
        current=_number(tree, f"{folder}/memory.current"),
    )


def _level_v1(tree: Tree, folder: str, path: str) -> Level:
    limit = tightest(_bound(tree, f"{folder}/memory.limit_in_bytes"), _inherited(tree, folder))
    both = _bound(tree, f"{folder}/memory.memsw.limit_in_bytes")
    swap: Bound = "max" if both == "max" or limit == "max" else max(both - limit, 0)
    current = _number(tree, f"{folder}/memory.usage_in_bytes")
    return Level(path=path, maximum=limit, high="max", swap=swap, current=current)


def _inherited(tree: Tree, folder: str) -> Bound:
    """The limit that version 1 adds up over all parents, those outside the container's view included."""
    for line in (tree.text_or_none(f"{folder}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "hierarchical_memory_limit" and value.isdecimal() and int(value) < V1_UNLIMITED:
            return int(value)
    return "max"


def _bound(tree: Tree, name: str) -> Bound:
    number = _number(tree, name)
    return "max" if number is None or number >= V1_UNLIMITED else number


def _number(tree: Tree, name: str) -> int | None:
    text = tree.text_or_none(name)
    return int(text) if text and text.isdecimal() else None
