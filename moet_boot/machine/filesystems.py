"""The filesystem behind a path: its type, how much fits, and whether O_DIRECT works there."""

import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from moet_boot.machine.facts.storage import Filesystem
from moet_boot.machine.mounts import Mount, mount_of, parse_mountinfo
from moet_boot.machine.tree import Tree, file_kind

BLOCK_BYTES = 4096


def read_filesystem(tree: Tree, path: str, mounts: list[Mount] | None = None) -> Filesystem:
    """The filesystem behind `path`, or behind its nearest parent that exists. Raises OSError."""
    given = Path(path)
    there = nearest_existing(given)
    resolved = there.resolve()
    status = os.statvfs(resolved)
    mount = mount_of(resolved, mounts if mounts is not None else read_mounts(tree))
    size = status.f_blocks * status.f_frsize
    return Filesystem(
        path=path,
        exists=there == given.absolute(),
        fstype=mount.fstype if mount else None,
        free_bytes=status.f_bavail * status.f_frsize,
        size_bytes=size,
        used_bytes=size - status.f_bfree * status.f_frsize,
        o_direct=reads_direct(resolved),
        rotational=is_rotational(tree, mount) if mount else None,
        read_only=bool(status.f_flag & os.ST_RDONLY),
    )


def read_mounts(tree: Tree) -> list[Mount]:
    return parse_mountinfo(tree.text("/proc/self/mountinfo"))


def nearest_existing(path: Path) -> Path:
    """The path itself or the first of its parents that exists. Raises OSError where that cannot be seen."""
    path = path.absolute()
    return next(candidate for candidate in (path, *path.parents) if file_kind(candidate) is not None)


def reads_direct(path: Path) -> bool | None:
    """Whether a file (of a folder: one that lies in it) can be read with O_DIRECT; None if there is none to try."""
    for file in _files(path):
        try:
            return _read_block(file)
        except OSError as failure:
            if failure.errno == errno.EINVAL:
                return False
    return None


def _files(path: Path) -> Iterator[Path]:
    entries = sorted(path.iterdir()) if path.is_dir() and os.access(path, os.R_OK | os.X_OK) else [path]
    for entry in entries:
        status = entry.stat() if entry.exists() else None
        if status and S_ISREG(status.st_mode) and status.st_size >= BLOCK_BYTES:
            yield entry


def _read_block(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as aligned:
            return os.preadv(descriptor, [aligned], 0) == BLOCK_BYTES
    finally:
        os.close(descriptor)


def is_rotational(tree: Tree, mount: Mount) -> bool | None:
    """Whether the disk behind a mount turns; None for filesystems without a disk of their own."""
    for device in _block_devices(tree, mount):
        # a partition has no queue of its own: its disk's lies one folder up
        for queue in (device / "queue", device.parent / "queue"):
            flag = tree.text_or_none(str((queue / "rotational").relative_to(tree.root.resolve())))
            if flag is not None:
                return flag == "1"
    return None


def _block_devices(tree: Tree, mount: Mount) -> Iterator[Path]:
    """The sysfs folders of the device; btrfs shows an invented number, so its source counts too."""
    by_number = tree.path(f"/sys/dev/block/{mount.device}")
    by_name = tree.path(f"/sys/class/block/{Path(mount.source).name}")
    for link in (by_number, by_name):
        if link.exists():
            yield link.resolve()
