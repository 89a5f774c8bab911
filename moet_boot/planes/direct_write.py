"""Writes of big files that leave the page cache alone: O_DIRECT from page-aligned memory."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.planes.geometry import ALIGN
from moet_boot.units import format_bytes


class DirectWriter:
    """A file open for writing past the page cache at aligned offsets; safe to share between threads.

    Where the filesystem refuses O_DIRECT each write is flushed and its pages are dropped at once.
    Raises MoetBootError when the file cannot be opened or the disk is full.
    """

    def __init__(self, path: Path, *, direct: bool = True) -> None:
        self.path = path
        self.direct = direct
        with writing(path):
            self.fd = self._open()

    def write(self, data: memoryview, offset: int) -> None:
        """Write page-aligned memory, a multiple of 4096 bytes, at a multiple of 4096."""
        with writing(self.path):
            self._write_all(data, offset)
            if not self.direct:
                os.fdatasync(self.fd)
                os.posix_fadvise(self.fd, offset, len(data), os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)

    def _write_all(self, data: memoryview, offset: int) -> None:
        done = 0
        while done < len(data):
            count = self._write_once(data[done:], offset + done)
            # after a short write O_DIRECT goes on at a whole block
            done = done + count if done + count == len(data) else (done + count) // ALIGN * ALIGN

    def _write_once(self, data: memoryview, offset: int) -> int:
        try:
            return os.pwrite(self.fd, data, offset)
        except OSError as error:
            if error.errno != errno.EINVAL or not self.direct:
                raise
            fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) & ~os.O_DIRECT)
            self.direct = False
            return self._write_once(data, offset)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self.path, flags | (os.O_DIRECT if self.direct else 0), 0o644)
        except OSError as error:
            if error.errno != errno.EINVAL or not self.direct:
                raise
            self.direct = False
            return os.open(self.path, flags, 0o644)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn any failure of the disk in the block into the MoetBootError for `path`."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> MoetBootError:
    """The right error for a file that cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return MoetBootError(
            f"no space left for {path}", fix="free some space and run the same command again: it goes on from here"
        )
    return MoetBootError(
        f"{path} cannot be written: {error.strerror or error}", fix="check the folder, its permissions and the disk"
    )


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise MoetBootError when the filesystem of `folder` has fewer than `needed` bytes free."""
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if free < needed:
        raise MoetBootError(
            f"{purpose} needs {format_bytes(needed)} in {folder}, {format_bytes(free)} are free",
            fix=f"free {format_bytes(needed - free)} or choose another folder",
        )


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
