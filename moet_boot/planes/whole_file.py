"""The sha256 of a whole file, read ahead past the page cache."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.progress import Progress, no_progress

CHUNK_BYTES = 4 << 20


def whole_file_sha256(reader: DirectReader, *, first: bytes = b"", on_progress: Progress = no_progress) -> str:
    """Lower-case hex sha256 of the file, `first` standing for its first bytes; raises OSError.

    One thread hashes while another reads the next piece: sha256 is serial, so the faster of the two waits.
    """
    digest = hashlib.sha256(first)
    done = len(first)
    for piece in _pieces(reader, done):
        digest.update(piece)
        done += len(piece)
        on_progress(done, reader.size)
    return digest.hexdigest()


def _pieces(reader: DirectReader, start: int) -> Iterator[memoryview]:
    buffers = AlignedBuffer(CHUNK_BYTES), AlignedBuffer(CHUNK_BYTES)
    spans = [(offset, min(CHUNK_BYTES, reader.size - offset)) for offset in range(start, reader.size, CHUNK_BYTES)]
    with ThreadPoolExecutor(1) as pool:
        ahead: Future[memoryview] | None = None
        for index, (offset, size) in enumerate(spans):
            current = ahead
            ahead = pool.submit(reader.read, buffers[index % 2], offset, size)
            if current is not None:
                yield current.result()
        if ahead is not None:
            yield ahead.result()
