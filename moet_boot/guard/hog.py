"""A program that takes memory as fast as the machine gives it, up to a limit, then waits to be killed.

For rehearsals and benchmarks. Huge pages and two threads: that is the fastest fall that a program can cause here.
"""

import ctypes
import mmap
import signal
import sys
import threading
import time

from moet_boot.guard import linux
from moet_boot.units import MIB

CHUNK = 8 * MIB
THREADS = 2
HOLD_S = 0.3
LIFE_S = 30.0
"""Seconds after which it lets go by itself, whatever becomes of the one who started it."""


def take(size: int, threads: int = THREADS) -> mmap.mmap:
    """Take `size` bytes of anonymous memory, touched by several threads at once; the mapping holds them."""
    # private: a shared mapping would be shared memory, which has no huge pages and is freed slowly
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    each = -(-size // threads)
    workers = [
        threading.Thread(target=_touch, args=(start + i * each, min(each, size - i * each))) for i in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return memory


def _touch(start: int, size: int) -> None:
    for at in range(0, size, CHUNK):
        ctypes.memset(start + at, 1, min(CHUNK, size - at))


def main(argv: list[str]) -> int:
    """Take argv[0] bytes once a byte (or the end) comes from standard input, and hold them for a moment."""
    linux.die_with_parent()
    linux.set_oom_score_adj(1000)
    linux.set_process_name("moet-hog")
    signal.alarm(int(LIFE_S))
    sys.stdin.buffer.read(1)
    held = take(int(argv[0]))
    time.sleep(HOLD_S)
    del held
    return 0
