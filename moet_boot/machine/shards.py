"""One file of a checkpoint: a safetensors shard, a Git LFS pointer in its place, or a piece of one."""

import json
import os
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from moet_boot.machine.facts.storage import Shard

LFS_MARK = b"version https://git-lfs.github.com/spec/"
LFS_MAX_BYTES = 1024
"""A pointer file is smaller than this (Git LFS specification)."""

HEADER_MAX_BYTES = 100_000_000
"""The format's own limit of a header (safetensors: MAX_HEADER_SIZE)."""


def is_lfs_pointer(head: bytes) -> bool:
    """Whether a file that starts like this stands for one that was never downloaded."""
    return head.startswith(LFS_MARK)


def read_shard(path: Path) -> tuple[Shard, str | None]:
    """The shard and what is wrong with it, None if nothing is. Raises OSError when it cannot be read."""
    size = path.stat().st_size
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return Shard(name=path.name, size=0), f"{path.name} is no regular file"
        head = stream.read(LFS_MAX_BYTES)
        if size <= LFS_MAX_BYTES and is_lfs_pointer(head):
            what = f"{path.name} is a Git LFS pointer of {size} bytes, not the file itself"
            return Shard(name=path.name, size=size, lfs_pointer=True), what
        problem = _header_problem(path.name, size, head, stream) if path.suffix == ".safetensors" else None
        return Shard(name=path.name, size=size), problem


def expected_bytes(header: bytes) -> int | None:
    """How long a safetensors file with this JSON header is, None if the header is none.

    Source: safetensors format: 8 bytes of length, the header, then the tensors without holes.
    """
    try:
        table = json.loads(header)
        ends = [tensor["data_offsets"][1] for name, tensor in table.items() if name != "__metadata__"]
        return 8 + len(header) + max(ends, default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _header_problem(name: str, size: int, head: bytes, stream: BinaryIO) -> str | None:
    length = int.from_bytes(head[:8], "little")
    if len(head) < 8 or not 2 <= length <= HEADER_MAX_BYTES:  # noqa: PLR2004  (the length field; `{}`)
        return f"{name} has no safetensors header"
    header = (head[8:] + stream.read(max(length - len(head) + 8, 0)))[:length]
    expected = expected_bytes(header) if len(header) == length else None
    if len(header) < length:
        return f"{name} is truncated inside its header ({size} bytes)"
    if expected is None:
        return f"{name} has a damaged safetensors header"
    if size == expected:
        return None
    return f"{name} is {'truncated' if size < expected else 'too long'}: {size} bytes, its header says {expected}"
