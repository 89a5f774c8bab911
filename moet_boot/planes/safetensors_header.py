"""Where the tensors of one safetensors shard lie; the data itself is not read.

A shard is a u64 length, a JSON header of that length, and the tensors back to back
(https://github.com/huggingface/safetensors#format).
"""

import json
from dataclasses import dataclass
from typing import Any

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.moet2pf_read import LFS_POINTER, read_bytes

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000  # the format's own limit
FETCH = "fetch this shard again"


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """A tensor's type, shape, and where its bytes are in the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int


def read_tensor_places(reader: DirectReader) -> dict[str, TensorPlace]:
    """All tensors of a shard by name.

    Raises ArtefactDamagedError for a pointer file, a truncated or too long shard, and a header that is no
    description of tensors.
    """
    start, header = _read_header(reader)
    places = {name: _place(reader, name, entry, start) for name, entry in header.items() if name != "__metadata__"}
    end = start
    for name, place in sorted(places.items(), key=lambda item: (item[1].offset, item[1].size)):
        if place.offset != end:
            raise _damaged(reader, f"has {name} at byte {place.offset}, expected {end}: tensors overlap or leave a gap")
        end += place.size
    if end != reader.size:
        difference = "truncated" if end > reader.size else "longer than its header says"
        raise _damaged(reader, f"is {difference}: {reader.size} bytes, expected {end}")
    return places


def _read_header(reader: DirectReader) -> tuple[int, dict[str, Any]]:
    if reader.size < LENGTH_BYTES:
        raise _damaged(reader, f"is no safetensors file: {reader.size} bytes")
    head = read_bytes(reader, 0, min(reader.size, len(LFS_POINTER)))
    if head == LFS_POINTER:
        raise ArtefactDamagedError(
            f"{reader.path} is a Git LFS pointer, not the shard itself", fix="fetch the real file (git lfs pull)"
        )
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if length > MAX_HEADER_BYTES:
        raise _damaged(reader, f"is no safetensors file: it claims a header of {length} bytes")
    if LENGTH_BYTES + length > reader.size:
        raise _damaged(reader, f"is truncated inside its header: {reader.size} bytes")
    try:
        text = read_bytes(reader, LENGTH_BYTES, length).decode()
        header = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise _damaged(reader, f"has a header that is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise _damaged(reader, "has a header that is no JSON object")
    return LENGTH_BYTES + length, header


def _place(reader: DirectReader, name: str, entry: Any, start: int) -> TensorPlace:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(begin), int(end)]} if (
            all(isinstance(size, int) for size in shape) and 0 <= begin <= end
        ):
            return TensorPlace(dtype, tuple(shape), start + begin, end - begin)
    raise _damaged(reader, f"describes {name} in an impossible way")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _damaged(reader: DirectReader, what: str) -> ArtefactDamagedError:
    return ArtefactDamagedError(f"{reader.path} {what}", fix=FETCH)
