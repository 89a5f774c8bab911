"""The pools of memory that a boot draws on: what is there, what is needed, phase by phase."""

from dataclasses import dataclass

from moet_boot.checks.finding import Case
from moet_boot.forecast.gpu_choice import used_gpus
from moet_boot.phases import Phase
from moet_boot.profile.model import MemoryKind


@dataclass(frozen=True)
class PoolPeak:
    """The worst moment of one phase in one pool, in bytes; `source` is `model` or `measured`."""

    phase: Phase
    bytes: int
    source: str


@dataclass(frozen=True)
class MemoryPool:
    """One pool. `available_bytes` is None where nobody could say."""

    name: str
    available_bytes: int | None
    required_bytes: int
    peaks: tuple[PoolPeak, ...]


def memory_pools(case: Case) -> list[MemoryPool]:
    """The pool that decides comes first: unified memory, the card's own, or the host's."""
    hardware, forecast = case.profile.hardware, case.forecast
    available = case.snapshot.meminfo.available_bytes if case.snapshot.meminfo else None
    if hardware.memory is MemoryKind.UNIFIED:
        whole = tuple(PoolPeak(peak.phase, peak.total_bytes, peak.source) for peak in forecast.phases)
        return [MemoryPool("unified memory", available, forecast.host_required_bytes, whole)]
    host = MemoryPool(
        "host memory",
        available,
        forecast.host_required_bytes,
        tuple(PoolPeak(peak.phase, peak.host_bytes, peak.source) for peak in forecast.phases),
    )
    if hardware.memory is MemoryKind.HOST:
        return [host]
    card = tuple(PoolPeak(peak.phase, peak.gpu_bytes, peak.source) for peak in forecast.phases)
    return [MemoryPool("GPU memory", _vram_free(case), forecast.gpu_required_bytes, card), host]


def _vram_free(case: Case) -> int | None:
    gpu = case.profile.hardware.gpu
    cards = used_gpus(case.plan, case.snapshot, gpu.count) if gpu else []
    free = [c.memory.total - c.memory.used for c in cards if c.memory.total is not None and c.memory.used is not None]
    return min(free) if free else None
