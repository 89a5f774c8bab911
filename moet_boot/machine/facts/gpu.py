"""What NVML says about the GPUs, or the error that it answered."""

from pydantic import Field

from moet_boot.machine.facts.group import Count, Group


class GpuMemory(Group):
    """Bytes, or the NVML error that was answered (NOT_SUPPORTED is normal on a GB10).

    `used` is what processes hold, `reserved` what the driver keeps for itself where it says so.
    """

    total: Count | None = None
    used: Count | None = None
    reserved: Count | None = None
    error: str | None = None


class GpuProcess(Group):
    """A process that holds the GPU; `name` as the host sees it, `used` in bytes."""

    pid: int
    name: str = ""
    used: Count | None = None
    alive: bool = True
    container: str | None = None
    """The container that it runs in, by name."""
    kind: str | None = None
    """`compute` or `graphics` where NVML says so."""


class PcieLink(Group):
    """The PCIe link, now and at its best."""

    gen_cur: int | None = None
    gen_max: int | None = None
    width_cur: int | None = None
    width_max: int | None = None


class Gpu(Group):
    """One GPU. Words as `nvidia-smi` prints them; None where NVML has no figure."""

    index: int
    name: str = ""
    cc: str | None = None
    """Compute capability, `12.1`."""
    memory: GpuMemory = GpuMemory()
    integrated: bool | None = None
    """Whether the GPU's memory is the host's."""
    utilization_pct: float | None = Field(default=None, ge=0.0)
    power_w: float | None = Field(default=None, ge=0.0)
    temp_c: float | None = None
    sm_clock_mhz: float | None = Field(default=None, ge=0.0)
    throttle: list[str] = Field(default_factory=list)
    persistence: bool | None = None
    ecc: str | None = None
    mig: str | None = None
    mig_devices: Count | None = None
    compute_mode: str | None = None
    pcie: PcieLink | None = None
    processes: list[GpuProcess] = Field(default_factory=list)
    processes_error: str | None = None
    """Why NVML does not list the processes that compute: then an empty list says nothing (NOT_SUPPORTED below WSL)."""
    error: str | None = None
    """The NVML error of a GPU that could not be read (GPU_IS_LOST)."""


class Nvml(Group):
    """The driver and its GPUs."""

    init: str
    """OK or the NVML error name."""
    driver: str | None = None
    library: str | None = None
    """Version of the library where it is known."""
    cuda_driver: str | None = None
    module_flavour: str | None = None
    """`open` or `proprietary`."""
    topology: str | None = None
    """The longest path between two GPUs (`PIX`, `PXB`, `PHB`, `NODE`, `SYS`); None with one GPU."""
    lost_gpus: list[int] | int | None = None
    gpus: list[Gpu] = Field(default_factory=list)
