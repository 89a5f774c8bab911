"""Who else holds a GPU: display clients are furniture, everything else is a tenant."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from moet_boot.machine.snapshot import Gpu, GpuProcess, Nvml, ProcessFacts
from moet_boot.units import MIB, format_bytes

SMALL_BYTES = 512 * MIB
"""A process below this is no tenant by its size: "a few hundred MiB" (field bands, rtx6000-a)."""

DISPLAY = frozenset(
    {
        *("xorg", "xwayland", "gnome-shell", "mutter", "kwin_x11", "kwin_wayland", "plasmashell", "sddm-greeter"),
        *("weston", "sway", "hyprland", "cosmic-comp", "gnome-remote-desktop-daemon", "nvidia-settings"),
    }
)
ENGINES = ("vllm", "enginecore", "enginecor", "sglang", "llama-server", "ollama", "trtllm", "tritonserver")


@dataclass(frozen=True)
class Tenant:
    """A live process that holds GPU memory; `used` in bytes, None where nobody says."""

    gpu: int
    pid: int
    name: str
    used: int | None

    def __str__(self) -> str:
        amount = "unknown amount" if self.used is None else format_bytes(self.used)
        return f"{self.name or 'a process'} (pid {self.pid}, {amount} on GPU {self.gpu})"


def tenants(cards: Iterable[Gpu]) -> list[Tenant]:
    """Live processes that are more than a display, the largest first.

    An engine that sleeps shows next to nothing and wakes up again, so engines count whatever their size
    (unified-memory.md 2, per-process memory).
    """
    found = [
        Tenant(card.index, process.pid, process.name, process.used)
        for card in cards
        for process in card.processes
        if process.alive and _is_tenant(process)
    ]
    return sorted(found, key=lambda tenant: -(tenant.used or 0))


def attributed_bytes(cards: Iterable[Gpu]) -> int:
    """GPU memory that live processes answer for, displays included."""
    return sum(process.used or 0 for card in cards for process in card.processes if process.alive)


def unlisted_processes(nvml: Nvml | None) -> str:
    """Which GPU does not list who computes on it, in words; empty if all do (an empty list then says nothing)."""
    blind = (card for card in (nvml.gpus if nvml else []) if card.processes_error)
    return next((f"GPU {card.index} does not list its processes ({card.processes_error})" for card in blind), "")


def is_display(process: GpuProcess) -> bool:
    """Whether a process draws and does not compute: it has no part in what a compute mode forbids."""
    return process.kind == "graphics" or PurePath(process.name).name.lower() in DISPLAY


def looks_like_engine(process: ProcessFacts) -> bool:
    """Whether a process of the host is a model server by its name, whatever NVML says about it."""
    return _is_engine(process.name)


def _is_tenant(process: GpuProcess) -> bool:
    if _is_engine(process.name):
        return True
    if process.used is None:
        return not is_display(process)
    return process.used >= SMALL_BYTES


def _is_engine(name: str) -> bool:
    lowered = name.lower()
    return any(engine in lowered for engine in ENGINES)
