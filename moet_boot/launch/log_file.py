"""The server's log: the server writes straight into a file, and moet-boot reads along.

Nothing that happens to moet-boot can block the server or lose a line, and everything printed before a freeze or
a kill is in the file. A flood is bounded without touching the writer: what was read is compressed into numbered
segments, and its place in the file is given back to the disk (a hole), so the file keeps its offsets. The last
MiB always stays readable in the file itself, also in the archive that a stop leaves: the cause of a failure is
searched there, by moet-boot and by people.
"""

import ctypes
import gzip
import os
from contextlib import suppress
from pathlib import Path

from moet_boot.units import MIB

SEGMENT_BYTES = 8 * MIB
"""Compressing this much takes about a tenth of a second, so that the supervisor's loop is never held up."""
KEPT_SEGMENTS = 32
READ_BYTES = MIB
TAIL_BYTES = MIB
_KEEP_SIZE_AND_PUNCH_HOLE = 0x01 | 0x02
_COPY_BYTES = MIB


class LogFile:
    """One log file and its segments `NAME.00001.gz`, `NAME.00002.gz`, ...; appends to what is there.

    `segment_bytes` 0 switches the segments off. The first segment is always kept: it has the boot.
    """

    def __init__(self, path: Path, segment_bytes: int = SEGMENT_BYTES, kept_segments: int = KEPT_SEGMENTS) -> None:
        self.path = path
        self.trouble = ""
        """Why the log is no longer cut into segments, if it is not."""
        self._segment_bytes, self._kept = segment_bytes, kept_segments
        self._writer: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._reader: int | None = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._start = self._read_to = self._hole_to = os.fstat(self._reader).st_size
        self._segments = max((int(p.suffixes[-2][1:]) for p in self.segments()), default=0)

    @property
    def writer(self) -> int:
        """The descriptor for the server's stdout and stderr."""
        if self._writer is None:
            raise ValueError("the log is closed")
        return self._writer

    def segments(self) -> list[Path]:
        """The compressed segments, oldest first."""
        return sorted(self.path.parent.glob(f"{self.path.name}.{'[0-9]' * 5}.gz"))

    def new(self, limit: int = READ_BYTES) -> bytes:
        """What was written since the last call, at most `limit` bytes of it."""
        if self._reader is None:
            return b""
        chunk = os.pread(self._reader, limit, self._read_to)
        self._read_to += len(chunk)
        full = self._read_to - self._hole_to >= self._segment_bytes + TAIL_BYTES
        if full:
            self._cut_segment(self._reader, self._segment_bytes)
        return chunk

    def tail(self, size: int = TAIL_BYTES) -> bytes:
        """The last bytes of what was written since this object was made."""
        if self._reader is None:
            return b""
        end = os.fstat(self._reader).st_size
        start = max(self._start, self._hole_to, end - size)
        return os.pread(self._reader, end - start, start)

    def close(self) -> None:
        """Archive the log: all but its last MiB, which people read, goes into segments. The server must be gone."""
        if self._reader is None:
            return
        with suppress(OSError):
            self._archive(self._reader)
            if self._hole_to > self._start:
                self._squeeze(self._reader)
        for descriptor in (self._writer, self._reader):
            if descriptor is not None:
                os.close(descriptor)
        self._writer = self._reader = None

    def close_writer(self) -> None:
        """Close our own copy of the server's descriptor, once the server has its own."""
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None

    def _archive(self, reader: int) -> None:
        """Cut segments until only the readable end is left in the file itself."""
        keep_from = os.fstat(reader).st_size - TAIL_BYTES
        if keep_from > self._hole_to:
            keep_from += os.pread(reader, _COPY_BYTES, keep_from).find(b"\n") + 1
        while self._hole_to < keep_from and self._cut_segment(reader, keep_from - self._hole_to):
            pass

    def _cut_segment(self, reader: int, size: int) -> bool:
        """Compress one segment, up to the end of a line, and give its place back; whether it was done."""
        if not self._segment_bytes or self.trouble:
            return False
        raw = os.pread(reader, min(size, self._segment_bytes), self._hole_to)
        raw = raw[: raw.rfind(b"\n") + 1] or raw
        target = self.path.with_name(f"{self.path.name}.{self._segments + 1:05d}.gz")
        try:
            _write_whole(target, gzip.compress(raw, compresslevel=1, mtime=0))
            _punch(reader, self._hole_to, len(raw))
        except OSError as error:
            # the lines stay where they are; without room or without holes the log just grows
            target.unlink(missing_ok=True)
            self.trouble = f"the log is not cut into segments any more: {error.strerror or error}"
            return False
        self._segments += 1
        self._hole_to += len(raw)
        self._drop_old()
        return True

    def _drop_old(self) -> None:
        for path in self.segments()[1 : -(self._kept - 1) or None]:
            path.unlink(missing_ok=True)

    def _squeeze(self, reader: int) -> None:
        rest = self.path.with_name(f"{self.path.name}.rest")
        end = os.fstat(reader).st_size
        with rest.open("wb") as target:
            for first, last in ((0, self._start), (self._hole_to, end)):
                for at in range(first, last, _COPY_BYTES):
                    target.write(os.pread(reader, min(_COPY_BYTES, last - at), at))
        rest.replace(self.path)


def _write_whole(target: Path, content: bytes) -> None:
    temporary = target.with_suffix(".tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _punch(descriptor: int, offset: int, size: int) -> None:
    """Give the blocks of this range back to the disk; it reads as zeros afterwards. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if libc.fallocate(descriptor, _KEEP_SIZE_AND_PUNCH_HOLE, offset, size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
