"""Reads of big files that leave the page cache alone: O_DIRECT into page-aligned buffers that are reused.

On a unified-memory machine a buffered pass over a 72 GiB file takes the memory that the boot needs, so
buffered reads are only the fallback, and drop their pages at once.
"""

import errno
import fcntl
import mmap
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.file_state import FileState
from moet_boot.planes.geometry import ALIGN, align_up

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)


class AlignedBuffer:
    """Page-aligned memory of at least `size` bytes, for O_DIRECT."""

    def __init__(self, size: int) -> None:
        self.size = align_up(max(size, ALIGN))
        self.view = memoryview(mmap.mmap(-1, self.size))


class EndOfFileError(OSError):
    """The file ends before the bytes that were asked for."""


class DirectReader:
    """A regular file open for reading past the page cache; safe to share between threads.

    Opening raises ArtefactMissingError when nothing is there and ArtefactDamagedError when it is no
    readable regular file. It never blocks on a FIFO.
    """

    def __init__(self, path: Path, *, direct: bool = True) -> None:
        self.path = path
        self.direct = direct
        self.bytes_read = 0
        self._lock = threading.Lock()
        self.fd = self._open()
        self.state = FileState.of(os.fstat(self.fd))

    @property
    def size(self) -> int:
        """Bytes of the file when it was opened."""
        return self.state.size

    @property
    def changed(self) -> bool:
        """Whether somebody wrote to the file, replaced or removed it, after it was opened."""
        try:
            now = FileState.of(self.path.stat())
        except OSError:
            return True
        return replace(now, ctime_ns=0) != replace(self.state, ctime_ns=0)  # a new link or mode changes no byte

    @property
    def io(self) -> str:
        """`direct`, or `buffered` when the filesystem refuses O_DIRECT."""
        return "direct" if self.direct else "buffered"

    def read(self, buffer: AlignedBuffer, offset: int, size: int) -> memoryview:
        """Read `size` bytes at `offset` (any alignment) and return them as a view into `buffer`.

        Raises EndOfFileError when the file ends before them, OSError when the read fails.
        """
        start, end = offset // ALIGN * ALIGN, offset + size
        window = buffer.view[: align_up(end - start)]
        got = self._fill(window, start, end - start)
        if got < end - start:
            raise EndOfFileError(errno.ENODATA, f"the file ends at {start + got}", str(self.path))
        return window[offset - start : end - start]

    def close(self) -> None:
        """Close the file; reading afterwards fails."""
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill(self, window: memoryview, start: int, needed: int) -> int:
        """Read until `needed` bytes are there or the file ends; return how many there are."""
        got = 0
        while got < needed:
            count = self._read_once(window[got:], start + got)
            # a short read may end anywhere, and O_DIRECT goes on at a multiple of the block only
            reached = got + count if got + count >= needed else (got + count) // ALIGN * ALIGN
            if reached == got:
                return got + count
            got = reached
        return needed

    def _read_once(self, window: memoryview, offset: int) -> int:
        try:
            count = os.preadv(self.fd, [window], offset)
        except OSError as error:
            if error.errno != errno.EINVAL or not self.direct:
                raise
            self._fall_back()
            return self._read_once(window, offset)
        if not self.direct:
            os.posix_fadvise(self.fd, offset, len(window), os.POSIX_FADV_DONTNEED)
        with self._lock:
            self.bytes_read += count
        return count

    def _fall_back(self) -> None:
        with self._lock:
            fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) & ~os.O_DIRECT)
            self.direct = False

    def _open(self) -> int:
        # what it is comes first: opening a FIFO may block, opening a device may act
        try:
            require_regular(self.path, self.path.stat().st_mode)
            try:
                return self._open_once()
            except OSError as error:
                if error.errno != errno.EINVAL or not self.direct:
                    raise
                self.direct = False
                return self._open_once()
        except OSError as error:
            raise unreadable(self.path, error) from error

    def _open_once(self) -> int:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_DIRECT if self.direct else 0)
        return os.open(self.path, flags)


def require_regular(path: Path, mode: int) -> None:
    """Raise ArtefactDamagedError when a path is anything but a regular file."""
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "no regular file")
        raise ArtefactDamagedError(f"{path} is {kind}, expected a regular file", fix="check the path")


def unreadable(path: Path, error: OSError) -> ArtefactMissingError | ArtefactDamagedError:
    """The right error for a file that could not be opened or read."""
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return ArtefactMissingError(f"{path} does not exist", fix="check the path, or fetch the file")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return ArtefactDamagedError(
            f"{path} cannot be read: permission denied", fix=f"make it readable: chmod a+r {path}"
        )
    return ArtefactDamagedError(f"{path} cannot be read: {error.strerror or error}", fix="check the disk and the path")
