"""This machine, or a recorded one, as far as the choice of a profile needs it."""

from pathlib import Path

from moet_boot.machine.load import load_snapshot
from moet_boot.machine.record import record
from moet_boot.machine.snapshot import Snapshot
from moet_boot.profile.fit import GpuFacts, MachineFacts


def machine_facts(snapshot: Path | None) -> MachineFacts:
    """The facts of a snapshot file, or of this machine; raises UsageError for a file that is no snapshot."""
    return facts_of(load_snapshot(snapshot) if snapshot else record())


def facts_of(found: Snapshot) -> MachineFacts:
    """What decides about a fit."""
    gpus = found.nvml.gpus if found.nvml else []
    return MachineFacts(
        arch=found.arch,
        memory_bytes=found.meminfo.total_bytes if found.meminfo else None,
        gpus=tuple(GpuFacts(gpu.name, gpu.cc, gpu.memory.total) for gpu in gpus),
        wsl=bool(found.os and found.os.wsl),
        gpu_error=_gpu_error(found),
    )


def _gpu_error(found: Snapshot) -> str | None:
    if found.nvml is None:
        return found.errors.get("nvml", "not in the snapshot")
    return None if found.nvml.init == "OK" else f"NVML: {found.nvml.init}"
