"""How much of a file is in the page cache, asked of the kernel."""

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np

_LIBC = ctypes.CDLL(None, use_errno=True)


def resident_bytes(path: Path) -> int:
    """Bytes of the file's pages that are in memory now (mincore)."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as view:
        pages = np.frombuffer(view, dtype=np.uint8)
        present = np.zeros(-(-size // mmap.PAGESIZE), dtype=np.uint8)
        failed = _LIBC.mincore(
            ctypes.c_void_p(pages.ctypes.data), ctypes.c_size_t(size), ctypes.c_void_p(present.ctypes.data)
        )
        del pages
    if failed:
        raise OSError(ctypes.get_errno(), "mincore failed")
    return int(np.count_nonzero(present & 1)) * mmap.PAGESIZE


def drop_from_cache(path: Path) -> None:
    """Write a file's pages out and drop them from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
