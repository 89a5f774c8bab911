"""The machine snapshot: everything that the checks may look at, as data.

JSON groups and units are those of recorded field cases: `meminfo` in kB (1 kB = 1024 B), `*_bytes` in bytes,
`*_pct` and PSI in percent. A group that is missing or null was not read; `errors` says why. Nothing in it
identifies the machine: no serial numbers, UUIDs, host names, addresses or user names.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "moet-boot/snapshot/v1"
KB = 1024


class Group(BaseModel):
    """A group of facts: frozen; keys that this version does not know are kept out of the way."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class OsFacts(Group):
    id: str | None = None
    version: str | None = None
    wsl: bool = False


class Clock(Group):
    ntp_synchronized: bool | None = None
    year: int | None = None


class LastBoot(Group):
    clean_shutdown: bool | None = None


class MemInfo(Group):
    """/proc/meminfo in kB; HugePages_* are counts of pages of Hugepagesize kB."""

    mem_total: int = Field(alias="MemTotal", ge=0)
    mem_free: int = Field(alias="MemFree", ge=0)
    mem_available: int | None = Field(default=None, alias="MemAvailable", ge=0)
    buffers: int = Field(default=0, alias="Buffers", ge=0)
    cached: int = Field(default=0, alias="Cached", ge=0)
    swap_cached: int = Field(default=0, alias="SwapCached", ge=0)
    active_file: int = Field(default=0, alias="Active(file)", ge=0)
    inactive_file: int = Field(default=0, alias="Inactive(file)", ge=0)
    unevictable: int = Field(default=0, alias="Unevictable", ge=0)
    mlocked: int = Field(default=0, alias="Mlocked", ge=0)
    swap_total: int = Field(default=0, alias="SwapTotal", ge=0)
    swap_free: int = Field(default=0, alias="SwapFree", ge=0)
    dirty: int = Field(default=0, alias="Dirty", ge=0)
    anon_pages: int = Field(default=0, alias="AnonPages", ge=0)
    mapped: int = Field(default=0, alias="Mapped", ge=0)
    shmem: int = Field(default=0, alias="Shmem", ge=0)
    slab: int = Field(default=0, alias="Slab", ge=0)
    s_reclaimable: int = Field(default=0, alias="SReclaimable", ge=0)
    s_unreclaim: int = Field(default=0, alias="SUnreclaim", ge=0)
    kernel_stack: int = Field(default=0, alias="KernelStack", ge=0)
    page_tables: int = Field(default=0, alias="PageTables", ge=0)
    percpu: int = Field(default=0, alias="Percpu", ge=0)
    huge_pages_total: int = Field(default=0, alias="HugePages_Total", ge=0)
    huge_pages_free: int = Field(default=0, alias="HugePages_Free", ge=0)
    huge_page_size: int = Field(default=2048, alias="Hugepagesize", ge=0)
    cma_total: int | None = Field(default=None, alias="CmaTotal", ge=0)
    cma_free: int | None = Field(default=None, alias="CmaFree", ge=0)

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
    def swap_used_bytes(self) -> int:
        return max(self.swap_total - self.swap_free, 0) * KB

    @property
    def huge_pool_bytes(self) -> int:
        """The HugeTLB pool, used or not: memory that no ordinary allocation gets."""
        return self.huge_pages_total * self.huge_page_size * KB

    @property
    def residual_bytes(self) -> int:
        """Memory that no field accounts for: the driver's share on unified memory (`Cached` has `Shmem` in it)."""
        named = self.mem_free + self.buffers + self.cached + self.anon_pages + self.slab + self.page_tables
        named += self.kernel_stack + self.percpu + self.huge_pages_total * self.huge_page_size
        return max(self.mem_total - named, 0) * KB


class Swap(Group):
    dev: str
    type: str = ""
    size_kb: int = Field(ge=0)
    used_kb: int = Field(ge=0)
    prio: int = 0


class Stall(Group):
    """One file of /proc/pressure, in percent of wall time."""

    some_avg10: float = 0.0
    some_avg60: float = 0.0
    full_avg10: float = 0.0
    full_avg60: float = 0.0


class Pressure(Group):
    memory: Stall | None = None
    io: Stall | None = None


class VmStat(Group):
    compact_stall: int = 0
    compact_fail: int = 0
    allocstall_normal: int = 0
    pgmajfault_per_s: float = 0.0


class BuddyInfo(Group):
    """Free blocks by order of the zone that matters; block size is page_kb * 2**index kB."""

    page_kb: int = Field(gt=0)
    zone: str
    free_blocks_by_order: list[int]


class Cgroup(Group):
    """The tightest limits on the path from this process's cgroup to the root; bytes or `max`."""

    version: int
    path: str = "/"
    memory_max: int | Literal["max"] = "max"
    memory_high: int | Literal["max"] = "max"
    memory_current: int | None = None
    memory_swap_max: int | Literal["max"] = "max"


class GpuMemory(Group):
    """Bytes, or the NVML error that was answered (NOT_SUPPORTED is normal on a GB10)."""

    total: int | None = None
    used: int | None = None
    error: str | None = None


class GpuProcess(Group):
    pid: int
    name: str = ""
    used: int | None = None
    alive: bool = True
    kind: str | None = None
    """`compute` or `graphics` where NVML says so."""


class Gpu(Group):
    index: int
    name: str = ""
    cc: str | None = None
    memory: GpuMemory = GpuMemory()
    integrated: bool | None = None
    utilization_pct: float | None = None
    power_w: float | None = None
    temp_c: float | None = None
    sm_clock_mhz: float | None = None
    throttle: list[str] = []
    persistence: bool | None = None
    ecc: str | None = None
    mig: str | None = None
    mig_devices: int | None = None
    compute_mode: str | None = None
    pcie: dict[str, Any] | None = None
    processes: list[GpuProcess] = []
    error: str | None = None
    """The NVML error of a GPU that could not be read (GPU_IS_LOST)."""


class Nvml(Group):
    init: str
    """OK or the NVML error name."""
    driver: str | None = None
    library: str | None = None
    cuda_driver: str | None = None
    module_flavour: str | None = None
    topology: str | None = None
    lost_gpus: list[int] | int | None = None
    gpus: list[Gpu] = []


class DockerImage(Group):
    ref: str
    arch: str | None = None
    digest: str | None = None
    cuda_toolkit: str | None = None
    cuda_archs: list[str] | None = None
    vllm: str | None = None
    present: bool = True
    entrypoint: list[str] | None = None


class DockerRun(Group):
    gpus: str | None = None
    network: str | None = None
    ipc: str | None = None
    shm_bytes: int | None = None
    memory_limit: int | None = None
    restart: str | None = None
    oom_score_adj: int | None = None


class ExitedContainer(Group):
    name: str
    exit_code: int | None = None
    seconds_ago: float | None = None
    gpu: bool = False


class Container(Group):
    name: str
    state: str
    ours: bool = False


class Docker(Group):
    present: bool
    error: str | None = None
    server_version: str | None = None
    engine: str | None = None
    """docker or podman."""
    rootless: bool = False
    cgroup_driver: str | None = None
    runtimes: list[str] = []
    toolkit_version: str | None = None
    cdi_devices: list[str] = []
    image: DockerImage | None = None
    run: DockerRun | None = None
    recently_exited: list[ExitedContainer] = []
    containers: list[Container] = []


class Filesystem(Group):
    path: str
    fstype: str | None = None
    free_bytes: int | None = None
    size_bytes: int | None = None
    used_bytes: int | None = None
    o_direct: bool | None = None
    rotational: bool | None = None
    read_only: bool | None = None


class Shard(Group):
    name: str
    size: int
    lfs_pointer: bool = False


class Checkpoint(Group):
    """What was read about the checkpoint; `shards` is full detail, the counts are the summary."""

    repo: str | None = None
    revision: str | None = None
    index_declares: int | None = None
    shards_present: int | None = None
    total_bytes: int | None = None
    incomplete_blobs: int | None = None
    lfs_pointers: int | None = None
    config_ok: bool | None = None
    missing: list[str] = []
    problems: list[str] = []
    shards: list[Shard] | None = None


class FileFacts(Group):
    """A file or folder by its path as given; folders of caches have `dir` and `complete`."""

    path: str
    size: int | None = None
    exists: bool = True
    head: str | None = None
    pinned_revision: str | None = None
    header_ok: bool | None = None
    format: str | None = None
    dir: bool = False
    complete: bool | None = None
    layers_present: int | None = None
    layers_expected: int | None = None
    problems: list[str] = []
    verified: str | None = None
    """Which verification found every slot good (`quick`, `sample`, `full`, `stamp`), None for none."""
    bad_slots: int | None = None


class Port(Group):
    port: int
    process: str | None = None
    pid: int | None = None
    container: str | None = None
    address: str | None = None


class ProcessFacts(Group):
    name: str
    pid: int | None = None
    ppid: int | None = None
    args: str | None = None
    rss_bytes: int | None = None
    oom_score_adj: int | None = None


class KernelLog(Group):
    nv_err_no_memory_since_boot: int | None = None
    xid: list[int | str] = []
    oom_kill_since_boot: int | None = None
    rm_init_adapter_failed: bool | int | None = None


class Limits(Group):
    """Limits of the process that would start the server; None is unlimited."""

    memlock_bytes: int | None = None
    nofile: int | None = None
    core_bytes: int | None = 0


class EngineFacts(Group):
    """The server program of a process runtime: where it is, what it says it is."""

    command: str
    path: str | None = None
    executable: bool = False
    version: str | None = None
    error: str | None = None


class Snapshot(Group):
    """One machine at one moment."""

    schema_: str | None = Field(default=None, alias="schema")
    arch: str | None = None
    kernel: str | None = None
    cmdline: str | None = None
    os: OsFacts | None = None
    cpus: int | None = None
    uptime_s: float | None = None
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
    errors: dict[str, str] = {}
    """Reader name -> why its group could not be read."""
