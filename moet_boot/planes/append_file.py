"""Appends to a new file past the page cache, in pieces of any size."""

import os
from pathlib import Path

from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.direct_write import DirectWriter, unwritable
from moet_boot.planes.geometry import align_up

BUFFER_BYTES = 1 << 20


class AppendFile:
    """A new file in the making; whole and on the disk only after `close`.

    `start`: how many bytes of an earlier try stay, a multiple of 4096. Raises MoetBootError when it cannot be
    written.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.size = start
        self._buffer = AlignedBuffer(BUFFER_BYTES)
        self._filled = 0
        self._writer = DirectWriter(path)

    def append(self, data: memoryview) -> None:
        """Add bytes at the end."""
        done = 0
        while done < len(data):
            count = min(len(data) - done, self._buffer.size - self._filled)
            self._buffer.view[self._filled : self._filled + count] = data[done : done + count]
            self._filled, done = self._filled + count, done + count
            if self._filled == self._buffer.size:
                self._flush()

    def close(self) -> None:
        """Write what is left, cut the file to its size and make it durable."""
        try:
            self._flush()
            os.ftruncate(self._writer.fd, self.size)
            os.fsync(self._writer.fd)
        except OSError as error:
            raise unwritable(self.path, error) from error
        finally:
            self._writer.close()

    def abandon(self) -> None:
        """Close without finishing."""
        self._writer.close()

    def _flush(self) -> None:
        if self._filled:
            self._writer.write(self._buffer.view[: align_up(self._filled)], self.size)
            self.size, self._filled = self.size + self._filled, 0
