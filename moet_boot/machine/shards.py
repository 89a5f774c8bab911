"""One file of a checkpoint: a shard, a Git LFS pointer in its place, or a piece of one."""

from pathlib import Path

from moet_boot.errors import ArtefactDamagedError
from moet_boot.machine.facts.storage import Shard
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.moet2pf_read import LFS_POINTER
from moet_boot.planes.safetensors_header import read_tensor_places

LFS_MAX_BYTES = 1024
"""A pointer file is smaller than this (Git LFS specification)."""


def read_shard(path: Path) -> tuple[Shard, str | None]:
    """The shard and what is wrong with it, None if nothing is; of its tensors no byte is read.

    Raises ArtefactMissingError when there is no file.
    """
    size, pointer, problem = 0, False, None
    try:
        with DirectReader(path) as reader:
            size = reader.size
            pointer = size <= LFS_MAX_BYTES and _starts_as_pointer(reader)
            if pointer:
                problem = f"{path.name} is a Git LFS pointer of {size} bytes, not the file itself"
            elif path.suffix == ".safetensors":
                read_tensor_places(reader)
    except ArtefactDamagedError as failure:
        problem = failure.what.replace(str(path), path.name)
    return Shard(name=path.name, size=size, lfs_pointer=pointer), problem


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file stands for one that was never downloaded. Raises the artefact errors."""
    with DirectReader(path) as reader:
        return reader.size <= LFS_MAX_BYTES and _starts_as_pointer(reader)


def _starts_as_pointer(reader: DirectReader) -> bool:
    size = min(reader.size, len(LFS_POINTER))
    try:
        return bytes(reader.read(AlignedBuffer(size), 0, size)) == LFS_POINTER
    except OSError:
        return False
