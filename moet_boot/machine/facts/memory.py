"""What the kernel says about memory: amounts, pressure, contiguity, limits."""

from typing import Literal, Self

from pydantic import Field, model_validator

from moet_boot.machine.facts.group import KB, Count, Group, Percent

MAX_TOTAL_KB = 1 << 40
"""1 PiB: no machine that this project is for has as much, so more of it is a damaged document."""
MAX_PAGE_KB = 1024
"""Linux has base pages of 4 to 256 kB."""
MAX_ORDERS = 32
"""A kernel has 11 to 14 orders."""


class MemInfo(Group):
    """/proc/meminfo in kB; HugePages_* are counts of pages of Hugepagesize kB.

    Figures that contradict each other (more free than there is) are refused: a verdict on them means nothing.
    """

    mem_total: int = Field(alias="MemTotal", gt=0, le=MAX_TOTAL_KB)
    mem_free: Count = Field(alias="MemFree")
    mem_available: Count | None = Field(default=None, alias="MemAvailable")
    buffers: Count = Field(default=0, alias="Buffers")
    cached: Count = Field(default=0, alias="Cached")
    swap_cached: Count = Field(default=0, alias="SwapCached")
    active_file: Count = Field(default=0, alias="Active(file)")
    inactive_file: Count = Field(default=0, alias="Inactive(file)")
    unevictable: Count = Field(default=0, alias="Unevictable")
    mlocked: Count = Field(default=0, alias="Mlocked")
    swap_total: Count = Field(default=0, alias="SwapTotal")
    swap_free: Count = Field(default=0, alias="SwapFree")
    zswap: Count = Field(default=0, alias="Zswap")
    dirty: Count = Field(default=0, alias="Dirty")
    writeback: Count = Field(default=0, alias="Writeback")
    anon_pages: Count = Field(default=0, alias="AnonPages")
    mapped: Count = Field(default=0, alias="Mapped")
    shmem: Count = Field(default=0, alias="Shmem")
    slab: Count = Field(default=0, alias="Slab")
    s_reclaimable: Count = Field(default=0, alias="SReclaimable")
    s_unreclaim: Count = Field(default=0, alias="SUnreclaim")
    kernel_stack: Count = Field(default=0, alias="KernelStack")
    page_tables: Count = Field(default=0, alias="PageTables")
    percpu: Count = Field(default=0, alias="Percpu")
    huge_pages_total: Count = Field(default=0, alias="HugePages_Total")
    huge_pages_free: Count = Field(default=0, alias="HugePages_Free")
    huge_page_size: Count = Field(default=2048, alias="Hugepagesize")
    hugetlb: Count = Field(default=0, alias="Hugetlb")
    """The HugeTLB pools of all page sizes; the counts above are of the default size only."""
    cma_total: Count | None = Field(default=None, alias="CmaTotal")
    cma_free: Count | None = Field(default=None, alias="CmaFree")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        parts = {
            "MemFree": self.mem_free,
            "MemAvailable": self.mem_available or 0,
            "Cached": self.cached,
            "AnonPages": self.anon_pages,
            "HugePages_Total x Hugepagesize": self._huge_pool_kb,
        }
        for name, size in parts.items():
            if size > self.mem_total:
                raise ValueError(f"{name} is {size} kB, more than MemTotal ({self.mem_total} kB)")
        if self.swap_free > self.swap_total:
            raise ValueError(f"SwapFree is {self.swap_free} kB, more than SwapTotal with {self.swap_total} kB")
        return self

    @property
    def _huge_pool_kb(self) -> int:
        return max(self.huge_pages_total * self.huge_page_size, self.hugetlb)

    @property
    def total_bytes(self) -> int:
        return self.mem_total * KB

    @property
    def free_bytes(self) -> int:
        return self.mem_free * KB

    @property
    def available_bytes(self) -> int | None:
        return None if self.mem_available is None else self.mem_available * KB

    @property
    def shmem_bytes(self) -> int:
        return self.shmem * KB

    @property
    def unwritten_bytes(self) -> int:
        """Page cache that must reach a disk before anybody else can have it."""
        return (self.dirty + self.writeback) * KB

    @property
    def swap_used_bytes(self) -> int:
        return (self.swap_total - self.swap_free) * KB

    @property
    def huge_pool_bytes(self) -> int:
        """The HugeTLB pools, used or not: memory that no ordinary allocation gets."""
        return self._huge_pool_kb * KB

    @property
    def residual_bytes(self) -> int:
        """Memory that no field names: the driver's share on unified memory (`Cached` contains `Shmem`)."""
        named = self.mem_free + self.buffers + self.cached + self.anon_pages + self.slab + self.page_tables
        named += self.kernel_stack + self.percpu + self.zswap + self._huge_pool_kb
        return max(self.mem_total - named, 0) * KB


class Swap(Group):
    """A row of /proc/swaps."""

    dev: str
    type: str = ""
    size_kb: Count
    used_kb: Count
    prio: int = 0

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.used_kb > self.size_kb:
            raise ValueError(f"used_kb is {self.used_kb}, more than size_kb with {self.size_kb}")
        return self


class Stall(Group):
    """One file of /proc/pressure, in percent of wall time."""

    some_avg10: Percent = 0.0
    some_avg60: Percent = 0.0
    full_avg10: Percent = 0.0
    full_avg60: Percent = 0.0


class Pressure(Group):
    memory: Stall | None = None
    io: Stall | None = None


class VmStat(Group):
    """Counters of /proc/vmstat since boot; `allocstall_normal` is the sum of all zones."""

    compact_stall: Count = 0
    compact_fail: Count = 0
    allocstall_normal: Count = 0
    oom_kill: Count | None = None
    pgmajfault_per_s: float = Field(default=0.0, ge=0.0)


class BuddyInfo(Group):
    """Free blocks by order, as many orders as the kernel has; block size is page_kb * 2**index kB."""

    page_kb: int = Field(gt=0, le=MAX_PAGE_KB)
    zone: str
    free_blocks_by_order: list[Count] = Field(max_length=MAX_ORDERS)


class Cgroup(Group):
    """The tightest limits on the path from this process's cgroup to the root; bytes or `max`.

    `path` and `memory_current` belong to the level with the least room left, or to the leaf if none limits.
    """

    version: int
    path: str = "/"
    memory_max: Count | Literal["max"] = "max"
    memory_high: Count | Literal["max"] = "max"
    memory_current: Count | None = None
    memory_swap_max: Count | Literal["max"] = "max"


class Limits(Group):
    """Soft limits of the process that would start the server; None is unlimited."""

    memlock_bytes: Count | None = None
    ipc_lock: bool | None = None
    """Whether it has the capability CAP_IPC_LOCK, with which no limit on locked memory counts."""
    nofile: Count | None = None
    nofile_hard: Count | Literal["unlimited"] | None = None
    """How far a process may raise `nofile` itself; None where it was not recorded."""
    core_bytes: Count | None = 0
