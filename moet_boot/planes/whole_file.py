"""The sha256 of a whole file, read ahead past the page cache."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.progress import Progress, no_progress

CHUNK_BYTES = 2 << 20
# with one read under way a virtual disk gave 0.4 GiB/s, with eight 1.0: as much as many threads get
READS_AHEAD = 8


Also = Callable[[memoryview], Callable[[], None]]
"""Starts something with a piece and returns how to wait for it."""


def whole_file_sha256(
    reader: DirectReader,
    *,
    first: bytes = b"",
    on_progress: Progress = no_progress,
    also: Also = lambda _: lambda: None,
) -> str:
    """Lower-case hex sha256 of the file, `first` standing for its first bytes; raises OSError.

    One thread hashes, for sha256 is serial, while others read the next pieces; `also` may use a piece beside it.
    """
    digest = hashlib.sha256(first)
    done = len(first)
    for piece in _pieces(reader, done):
        wait = also(piece)
        digest.update(piece)
        wait()
        done += len(piece)
        on_progress(done, reader.size)
    return digest.hexdigest()


def _pieces(reader: DirectReader, start: int) -> Iterator[memoryview]:
    """The file from `start` on, in order; a piece is good until the next one is asked for."""
    buffers = deque(AlignedBuffer(CHUNK_BYTES) for _ in range(READS_AHEAD))
    ahead: deque[Future[memoryview]] = deque()
    with ThreadPoolExecutor(READS_AHEAD) as pool:
        for offset in range(start, reader.size, CHUNK_BYTES):
            if len(ahead) == READS_AHEAD:
                yield ahead.popleft().result()
            ahead.append(pool.submit(reader.read, buffers[0], offset, min(CHUNK_BYTES, reader.size - offset)))
            buffers.rotate(-1)
        while ahead:
            yield ahead.popleft().result()
