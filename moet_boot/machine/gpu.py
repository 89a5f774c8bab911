"""The GPUs of this machine: NVML behind a deadline, the driver's own file, and the names of the processes."""

import ctypes
import re
from collections.abc import Callable

from moet_boot.machine.bounded import output_of_module
from moet_boot.machine.facts.gpu import Gpu, Nvml
from moet_boot.machine.process_names import may_be_alive, process_name
from moet_boot.machine.tree import Tree

LIBRARY = "libnvidia-ml.so.1"
DRIVER_FILE = "/proc/driver/nvidia/version"
_VERSION = re.compile(r"\s(\d{3,}\.\d+(?:\.\d+)?)\s")


def parse_driver_file(text: str) -> tuple[str | None, str]:
    """Version of the loaded kernel module, and whether it is the open or the proprietary one."""
    first = text.split("\n", 1)[0]
    version = _VERSION.search(f"{first} ")
    return version.group(1) if version else None, "open" if "Open Kernel Module" in first else "proprietary"


def read_gpus(tree: Tree, deadline_s: float) -> Nvml:
    """What NVML says, never a raise for what it answers. Raises UnreadError when it does not answer at all."""
    nvml = Nvml.model_validate_json(output_of_module("moet_boot.machine.nvml", deadline_s)) if _loads() else _NONE
    text = tree.text_or_none(DRIVER_FILE)
    if text:
        version, flavour = parse_driver_file(text)
        nvml = nvml.model_copy(update={"driver": nvml.driver or version, "module_flavour": flavour})
    return with_names(nvml, lambda pid: process_name(tree, pid), may_be_alive)


def with_names(nvml: Nvml, name_of: Callable[[int], str | None], alive: Callable[[int], bool]) -> Nvml:
    """NVML numbers the processes; the host knows what they are called and whether they still exist."""

    def named(gpu: Gpu) -> Gpu:
        processes = [
            process.model_copy(update={"name": name_of(process.pid) or "", "alive": alive(process.pid)})
            for process in gpu.processes
        ]
        return gpu.model_copy(update={"processes": processes})

    return nvml.model_copy(update={"gpus": [named(gpu) for gpu in nvml.gpus]})


_NONE = Nvml(init="LIBRARY_NOT_FOUND")


def _loads() -> bool:
    """Whether the library is there at all; loading it does not touch the driver yet."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True
