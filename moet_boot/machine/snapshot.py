"""The machine snapshot: everything that the checks may look at, as data.

JSON groups and units are those of recorded field cases: `meminfo` in kB (1 kB = 1024 B), `*_bytes` in bytes,
`*_pct` and PSI in percent. A group that is missing or null was not read; `errors` says why.
"""

from pydantic import Field

from moet_boot.machine.facts.containers import Container, Docker, DockerImage, DockerRun, ExitedContainer
from moet_boot.machine.facts.gpu import Gpu, GpuMemory, GpuProcess, Nvml, PcieLink
from moet_boot.machine.facts.group import KB, Count, Group
from moet_boot.machine.facts.host import Clock, EngineFacts, KernelLog, LastBoot, OsFacts, Port, ProcessFacts
from moet_boot.machine.facts.memory import BuddyInfo, Cgroup, Limits, MemInfo, Pressure, Stall, Swap, VmStat
from moet_boot.machine.facts.storage import Checkpoint, FileFacts, Filesystem, Shard

__all__ = [
    "KB",
    "SCHEMA",
    "BuddyInfo",
    "Cgroup",
    "Checkpoint",
    "Clock",
    "Container",
    "Docker",
    "DockerImage",
    "DockerRun",
    "EngineFacts",
    "ExitedContainer",
    "FileFacts",
    "Filesystem",
    "Gpu",
    "GpuMemory",
    "GpuProcess",
    "Group",
    "KernelLog",
    "LastBoot",
    "Limits",
    "MemInfo",
    "Nvml",
    "OsFacts",
    "PcieLink",
    "Port",
    "Pressure",
    "ProcessFacts",
    "Shard",
    "Snapshot",
    "Stall",
    "Swap",
    "VmStat",
]

SCHEMA = "moet-boot/snapshot/v1"


class Snapshot(Group):
    """One machine at one moment."""

    schema_: str | None = Field(default=None, alias="schema")
    arch: str | None = None
    kernel: str | None = None
    cmdline: str | None = None
    os: OsFacts | None = None
    cpus: Count | None = None
    uptime_s: float | None = Field(default=None, ge=0.0)
    clock: Clock | None = None
    last_boot: LastBoot | None = None
    meminfo: MemInfo | None = None
    swaps: list[Swap] | None = None
    pressure: Pressure | None = None
    vmstat: VmStat | None = None
    buddyinfo: BuddyInfo | None = None
    sysctl: dict[str, int] | None = None
    thp: str | None = None
    cgroup: Cgroup | None = None
    limits: Limits | None = None
    nvml: Nvml | None = None
    docker: Docker | None = None
    fs: dict[str, Filesystem] | None = None
    checkpoint: Checkpoint | None = None
    files: list[FileFacts] | None = None
    engine: EngineFacts | None = None
    ports_in_use: list[Port] | None = None
    processes: list[ProcessFacts] | None = None
    kernel_log: KernelLog | None = None
    env: dict[str, str] | None = None
    errors: dict[str, str] = Field(default_factory=dict)
    """Group name -> why it could not be read."""
