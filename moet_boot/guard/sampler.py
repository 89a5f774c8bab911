"""Reading the machine's memory, often: files stay open, buffers are reused, nothing grows."""

import os
from collections.abc import Callable
from pathlib import Path

from moet_boot.guard.sample import Sample
from moet_boot.units import GIB, KIB

REST_S = 0.25
FASTEST_S = 0.002
WORST_FALL = 16 * GIB
"""Bytes a second; the fastest recorded fall was 14 GiB/s (field notes: unified memory, section 5)."""
LOOKS_ON_THE_WAY = 4
"""How many looks the worst fall allows between any level and the floor."""

# in the order of /proc/meminfo, so that one pass finds them all
_FIELDS = (
    b"MemTotal:",
    b"\nMemFree:",
    b"\nMemAvailable:",
    b"\nBuffers:",
    b"\nCached:",
    b"\nSwapTotal:",
    b"\nSwapFree:",
    b"\nAnonPages:",
    b"\nSlab:",
    b"\nPageTables:",
    b"\nHugePages_Total:",
    b"\nHugepagesize:",
)
_BUFFER = 16 * KIB


class Sampler:
    """Samples from /proc/meminfo and, where the kernel has it, /proc/pressure/memory.

    Raises OSError when meminfo cannot be opened or read: a guard without eyes must end, and be seen to end.
    """

    def __init__(self, clock: Callable[[], float], proc: Path = Path("/proc")) -> None:
        self._clock = clock
        self._meminfo = os.open(proc / "meminfo", os.O_RDONLY | os.O_CLOEXEC)
        self._psi = open_if_there(proc / "pressure" / "memory")
        self._buffer = bytearray(_BUFFER)

    def read(self) -> Sample:
        """One look at the machine."""
        size = os.preadv(self._meminfo, [self._buffer], 0)
        figures = parse_meminfo(self._buffer, size)
        total, free, available, buffers, cached, swap_total, swap_free, anon, slab, tables, pages, page = figures
        swap_used = None if swap_total is None or swap_free is None else swap_total - swap_free
        residual = None
        if total is not None and free is not None:
            # field notes: unified memory, section 1
            named = free + sum(part or 0 for part in (buffers, cached, anon, slab, tables))
            residual = total - named - (pages or 0) // KIB * (page or 0)
        return Sample(self._clock(), available, free, swap_used, self._pressure(), residual)

    def _pressure(self) -> float | None:
        if self._psi is None:
            return None
        try:
            size = os.preadv(self._psi, [self._buffer], 0)
        except OSError:  # psi=0 on the kernel's command line: the file opens and does not read
            return None
        return parse_pressure(self._buffer, size)

    def close(self) -> None:
        """Close the files."""
        os.close(self._meminfo)
        if self._psi is not None:
            os.close(self._psi)


def parse_meminfo(buffer: bytearray, size: int) -> list[int | None]:
    """The fields of `_FIELDS` in bytes (counts of pages: times 1024, as if they were kB); None where absent."""
    found: list[int | None] = []
    start = 0
    for name in _FIELDS:
        at = buffer.find(name, start, size)
        end = buffer.find(b"\n", at + len(name), size) if at >= 0 else -1
        if end < 0:
            found.append(None)
            continue
        text = buffer[at + len(name) : end].removesuffix(b" kB").strip()
        found.append(int(text) * KIB if text.isdigit() else None)
        start = end
    return found


def parse_pressure(buffer: bytearray, size: int) -> float | None:
    """`full avg10` of a pressure file in percent; None when there is no such line."""
    at = buffer.find(b"full avg10=", 0, size)
    end = buffer.find(b" ", at + 11, size)
    if at < 0 or end < 0:
        return None
    text = bytes(buffer[at + 11 : end])
    return float(text) if text.replace(b".", b"", 1).isdigit() else None


def next_look_s(headroom: int | None, *, resting_s: float = REST_S) -> float:
    """Seconds until the next look, given the bytes above the floor: the worst fall must be seen several times."""
    if headroom is None:
        return resting_s
    return min(resting_s, max(FASTEST_S, headroom / WORST_FALL / LOOKS_ON_THE_WAY))


def open_if_there(path: Path) -> int | None:
    """A descriptor to read from, or None where it cannot be."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
