"""The sha256 of slots, many threads over one file."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.workers import run_in_threads

# one read; 1 to 4 MiB measured alike, and 16 threads then hold 32 MiB
CHUNK_BYTES = 2 << 20


@dataclass(frozen=True)
class SlotHash:
    """What reading a slot gave: its digest, or why it could not be read."""

    slot: int
    digest: bytes | None
    padding_clean: bool = True
    error: str = ""


def hash_slots(
    reader: DirectReader,
    slots: Sequence[int],
    geometry: Geometry,
    offset_of: Callable[[int], int],
    threads: int,
) -> Iterator[SlotHash]:
    """Hash 2-bit slots of a file in parallel, each without its padding, which must be zeros.

    Yields in the order of completion. A slot that cannot be read is a result, not an exception.
    """

    def make_work() -> Callable[[int], SlotHash]:
        buffer = AlignedBuffer(CHUNK_BYTES)
        return lambda slot: hash_slot(reader, buffer, slot, geometry, offset_of(slot))

    return run_in_threads(slots, make_work, threads)


@cache
def zero_digest(size: int) -> bytes:
    """The sha256 of `size` zero bytes: what a slot that was never written hashes to."""
    digest, block = hashlib.sha256(), bytes(min(size, CHUNK_BYTES))
    for start in range(0, size, CHUNK_BYTES):
        digest.update(block[: size - start])
    return digest.digest()


def hash_slot(reader: DirectReader, buffer: AlignedBuffer, slot: int, geometry: Geometry, offset: int) -> SlotHash:
    """Hash the slot at `offset`, in pieces of the buffer's size; never raises for what the disk does."""
    digest = hashlib.sha256()
    clean = True
    try:
        for start in range(0, geometry.slot_stride, buffer.size):
            piece = reader.read(buffer, offset + start, min(buffer.size, geometry.slot_stride - start))
            digest.update(piece[: geometry.slot_bytes - start])
            clean = clean and not any(piece[max(0, geometry.slot_bytes - start) :])
    except OSError as error:
        return SlotHash(slot, None, error=error.strerror or str(error))
    return SlotHash(slot, digest.digest(), clean)
