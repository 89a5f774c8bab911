"""The machine's memory at this moment, for the supervisor's receipt and its wait before a restart."""

from contextlib import suppress
from typing import TYPE_CHECKING

import pynvml

from moet_boot.machine.bounded import result_by, start_reading
from moet_boot.machine.meminfo import read_meminfo
from moet_boot.machine.tree import Tree, UnreadError

if TYPE_CHECKING:
    from concurrent.futures import Future

ANSWER_S = 0.05
"""How long the supervisor's loop waits for NVML, which answers in a few ms."""


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
    """One GPU through NVML; a GPU that stops answering is asked no more.

    Asked beside the supervisor's loop: a driver that hangs held such a call for minutes (field notes on unified
    memory, section 5), and meanwhile somebody must see whether the guard lives.
    """

    def __init__(self, handle: object) -> None:
        self._handle: object | None = handle
        self._asked: Future[int] | None = None

    def used_bytes(self) -> int | None:
        if self._handle is None:
            return None
        self._asked = self._asked or start_reading(self._ask)
        try:
            used = result_by(self._asked, ANSWER_S, ANSWER_S)
        except UnreadError:
            return None  # it is asked again only when this question was answered
        except pynvml.NVMLError:
            self._handle = used = None
        self._asked = None
        return used

    def _ask(self) -> int:
        return int(pynvml.nvmlDeviceGetMemoryInfo(self._handle).used)


def _open_gpu(index: int) -> _Gpu | None:
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        return _Gpu(pynvml.nvmlDeviceGetHandleByIndex(index))
    return None
