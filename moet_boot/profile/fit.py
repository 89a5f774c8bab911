"""Whether a machine is the one that a profile is for. Coarse on purpose: the preflight judges the rest."""

from dataclasses import dataclass

from moet_boot.profile.model import GpuRequirement, MemoryKind, Profile
from moet_boot.units import format_bytes


@dataclass(frozen=True)
class GpuFacts:
    """One GPU; memory in bytes, None where the driver has no figure (a GB10)."""

    name: str
    compute_capability: str | None
    memory_bytes: int | None


@dataclass(frozen=True)
class MachineFacts:
    """What decides about a fit: architecture, GPUs, memory in bytes (None: not read), and why GPUs are unknown."""

    arch: str | None
    memory_bytes: int | None
    gpus: tuple[GpuFacts, ...]
    wsl: bool = False
    gpu_error: str | None = None


@dataclass(frozen=True)
class Fit:
    """Whether it fits, and everything that speaks against it."""

    fits: bool
    against: tuple[str, ...]


def fit(profile: Profile, machine: MachineFacts) -> Fit:
    """Compare a profile's hardware with a machine."""
    wanted = profile.hardware
    against = []
    if machine.arch is not None and machine.arch not in wanted.architectures:
        against.append(f"needs {' or '.join(wanted.architectures)}, this is {machine.arch}")
    least, memory = wanted.min_host_memory_bytes, machine.memory_bytes
    if least is not None and memory is not None and memory < least:
        against.append(f"needs {format_bytes(least)} of memory, this has {format_bytes(memory)}")
    if machine.wsl and wanted.wsl == "refuse":
        against.append("does not run under WSL")
    if wanted.gpu is not None:
        against += _gpu_against(wanted.gpu, machine, unified=wanted.memory is MemoryKind.UNIFIED)
    return Fit(not against, tuple(against))


def _gpu_against(wanted: GpuRequirement, machine: MachineFacts, *, unified: bool) -> list[str]:
    needs = f"needs {wanted.names[0]} (compute capability {wanted.compute_capability})"
    if not machine.gpus:
        return [f"{needs}, no GPU was found" + (f" ({machine.gpu_error})" if machine.gpu_error else "")]
    right = [gpu for gpu in machine.gpus if _is_wanted(gpu, wanted)]
    if not right:
        return [f"{needs}, this has {', '.join(sorted({gpu.name for gpu in machine.gpus}))}"]
    least = wanted.memory_bytes
    big = [gpu for gpu in right if unified or least is None or gpu.memory_bytes is None or gpu.memory_bytes >= least]
    if len(big) < wanted.count:
        most = max(gpu.memory_bytes or 0 for gpu in right)
        room = f" of {format_bytes(least)}" if least else ""
        return [f"needs {wanted.count} GPU{room}, the largest that fits by name has {format_bytes(most)}"]
    return []


def _is_wanted(gpu: GpuFacts, wanted: GpuRequirement) -> bool:
    named = any(name.lower() in gpu.name.lower() for name in wanted.names)
    return named and gpu.compute_capability in {None, wanted.compute_capability}
