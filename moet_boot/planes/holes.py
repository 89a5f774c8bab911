"""Runs of a file that were never written: a download or copy that stopped leaves them where zeros are read."""

import errno
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Hole:
    """Bytes [start, end) that have no storage."""

    start: int
    end: int


def find_holes(fd: int, start: int, end: int) -> list[Hole]:
    """The holes of an open file inside [start, end); empty where the filesystem keeps no record of them."""
    holes: list[Hole] = []
    position = start
    while position < end:
        hole = _seek(fd, position, os.SEEK_HOLE, end)
        if hole >= end:
            break
        position = _seek(fd, hole, os.SEEK_DATA, end)
        holes.append(Hole(hole, min(position, end)))
    return holes


def _seek(fd: int, position: int, whence: int, end: int) -> int:
    try:
        return os.lseek(fd, position, whence)
    except OSError as error:
        if error.errno == errno.ENXIO:  # no data after this place
            return end
        if error.errno in {errno.EINVAL, errno.EOPNOTSUPP}:
            return end if whence == os.SEEK_HOLE else position
        raise
