"""What tells whether a file is still the one that was looked at."""

import os
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class FileState:
    """A file at one moment. Its mtime can be put back after a change, its ctime cannot."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Self:
        """The state that a stat call found."""
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
