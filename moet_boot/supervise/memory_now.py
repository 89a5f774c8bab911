"""The machine's memory at this moment, for the supervisor's receipt and its wait before a restart."""

from contextlib import suppress

import pynvml

from moet_boot.machine.meminfo import read_meminfo
from moet_boot.machine.tree import Tree, UnreadError


class MachineMemory:
    """Reads MemAvailable, and VRAM in use on one GPU where that GPU has memory of its own."""

    def __init__(self, gpu_index: int | None = None, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self._gpu = None if gpu_index is None else _open_gpu(gpu_index)

    def available_bytes(self) -> int | None:
        """MemAvailable in bytes, or None where it cannot be read."""
        with suppress(OSError, UnreadError, ValueError):
            return read_meminfo(self._tree).available_bytes
        return None

    def gpu_used_bytes(self) -> int | None:
        """VRAM used in bytes, or None where NVML does not answer (on unified memory it never does)."""
        return None if self._gpu is None else self._gpu.used_bytes()


class _Gpu:
    """One GPU through NVML; a GPU that stops answering is asked no more."""

    def __init__(self, handle: object) -> None:
        self._handle: object | None = handle

    def used_bytes(self) -> int | None:
        if self._handle is None:
            return None
        try:
            return int(pynvml.nvmlDeviceGetMemoryInfo(self._handle).used)
        except pynvml.NVMLError:
            self._handle = None
            return None


def _open_gpu(index: int) -> _Gpu | None:
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        return _Gpu(pynvml.nvmlDeviceGetHandleByIndex(index))
    return None
