"""Which layers of a pack or cache reach into unwritten parts of a file: a server reads those as zeros."""

import os
from pathlib import Path

from moet_boot.planes.holes import Hole, find_holes


def file_holes(path: Path) -> list[Hole]:
    """The holes of a regular file; raises OSError like any read."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return find_holes(fd, 0, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def layers_with_holes(path: Path, layer_bytes: int, layers: frozenset[int], start: int = 0) -> tuple[int, ...]:
    """Those of `layers` (layer l owns bytes start + [l, l+1) * layer_bytes) that a hole reaches into."""
    found: set[int] = set()
    for hole in file_holes(path):
        found.update(range((hole.start - start) // layer_bytes, -(-(hole.end - start) // layer_bytes)))
    return tuple(sorted(found & layers))
