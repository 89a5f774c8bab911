"""What NVML answers, through NVIDIA's own binding. Runs in a process of its own: `python -m moet_boot.machine.nvml`."""

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pynvml

from moet_boot.machine.facts.gpu import Gpu, GpuMemory, GpuProcess, Nvml, PcieLink

Handle = Any

ERROR_NAMES: dict[int, str] = {
    code: name.removeprefix("NVML_ERROR_") for name, code in vars(pynvml).items() if name.startswith("NVML_ERROR_")
}
COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
TOPOLOGIES = {0: "INTERNAL", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
THROTTLE_BITS = {
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
"""Reasons that slow a GPU down; idle and clocks set by the user are none (nvml.h: nvmlClocksEventReason*)."""

INTEGRATED_NAMES = re.compile(r"\b(GB10|Tegra|Xavier|Orin|Thor)\b")


def read_nvml() -> Nvml:
    """Everything that NVML says, or the name of the error that it answered to its initialization."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as failure:
        return Nvml(init=error_name(failure))
    try:
        return _read_all()
    finally:
        ask(pynvml.nvmlShutdown)


def error_name(failure: pynvml.NVMLError) -> str:
    """NVML's name of an error without its prefix: NOT_SUPPORTED, GPU_IS_LOST."""
    return ERROR_NAMES.get(failure.value, f"ERROR_{failure.value}")


def ask(query: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of one query, None where NVML has none. A lost GPU raises NVMLError: nothing else it says counts."""
    try:
        return query(*arguments)
    except pynvml.NVMLError as failure:
        if failure.value == pynvml.NVML_ERROR_GPU_IS_LOST:
            raise
        return None


def is_integrated(name: str, cc: str | None, memory: GpuMemory) -> bool:
    """Whether a GPU shares the host's memory. NVML has no query for it (CUDA's `integrated` needs a context).

    Known names decide, then compute capability 12.1, which only the GB10 has, then NOT_SUPPORTED as the answer
    for memory: a card with memory of its own always knows how much it has.
    """
    return bool(INTEGRATED_NAMES.search(name)) or cc == "12.1" or memory.error == "NOT_SUPPORTED"


def _read_all() -> Nvml:
    gpus = [_read_gpu(index) for index in range(ask(pynvml.nvmlDeviceGetCount) or 0)]
    cuda = ask(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return Nvml(
        init="OK",
        driver=ask(pynvml.nvmlSystemGetDriverVersion),
        library=ask(pynvml.nvmlSystemGetNVMLVersion),
        cuda_driver=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        topology=_topology([gpu.index for gpu in gpus if gpu.error is None]),
        lost_gpus=[gpu.index for gpu in gpus if gpu.error] or None,
        gpus=gpus,
    )


def _read_gpu(index: int) -> Gpu:
    try:
        return _describe(index, pynvml.nvmlDeviceGetHandleByIndex(index))
    except pynvml.NVMLError as failure:
        return Gpu(index=index, error=error_name(failure))


def _describe(index: int, handle: Handle) -> Gpu:
    name = ask(pynvml.nvmlDeviceGetName, handle) or ""
    capability = ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    cc = f"{capability[0]}.{capability[1]}" if capability else None
    memory = _memory(handle)
    mig, mig_devices = _mig(handle)
    processes, processes_error = _processes(handle)
    power = ask(pynvml.nvmlDeviceGetPowerUsage, handle)
    persistence = ask(pynvml.nvmlDeviceGetPersistenceMode, handle)
    utilization = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    return Gpu(
        index=index,
        name=name,
        cc=cc,
        memory=memory,
        integrated=is_integrated(name, cc, memory),
        utilization_pct=None if utilization is None else utilization.gpu,
        power_w=None if power is None else power / 1000,
        temp_c=ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        sm_clock_mhz=ask(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        throttle=_throttle(handle),
        persistence=None if persistence is None else bool(persistence),
        ecc=_switch(ask(pynvml.nvmlDeviceGetEccMode, handle)),
        mig=mig,
        mig_devices=mig_devices,
        compute_mode=COMPUTE_MODES.get(ask(pynvml.nvmlDeviceGetComputeMode, handle)),
        pcie=_pcie(handle),
        processes=processes,
        processes_error=processes_error,
    )


def _memory(handle: Handle) -> GpuMemory:
    """Bytes in the newer form, whose `used` leaves out what the driver reserves, else in the older one."""
    try:
        try:
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        except (pynvml.NVMLError_FunctionNotFound, pynvml.NVMLError_ArgumentVersionMismatch):
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    except pynvml.NVMLError as failure:
        if failure.value == pynvml.NVML_ERROR_GPU_IS_LOST:
            raise
        return GpuMemory(error=error_name(failure))
    return GpuMemory(total=memory.total, used=memory.used, reserved=getattr(memory, "reserved", None))


def _mig(handle: Handle) -> tuple[str, int | None]:
    mode = _switch(ask(pynvml.nvmlDeviceGetMigMode, handle))
    if mode != "Enabled":
        return mode, None
    slots = range(ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0)
    devices = [ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, slot) for slot in slots]
    return mode, sum(device is not None for device in devices)


def _switch(modes: Any) -> str:
    """The current one of a pair (current, pending), as nvidia-smi prints it."""
    return "N/A" if modes is None else ("Enabled" if modes[0] else "Disabled")


def _throttle(handle: Handle) -> list[str]:
    reasons = ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle)
    if reasons is None:
        reasons = ask(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    return [name for bit, name in THROTTLE_BITS.items() if (reasons or 0) & bit]


def _pcie(handle: Handle) -> PcieLink | None:
    link = PcieLink(
        gen_cur=ask(pynvml.nvmlDeviceGetCurrPcieLinkGeneration, handle),
        gen_max=ask(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        width_cur=ask(pynvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        width_max=ask(pynvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
    )
    return None if link == PcieLink() else link


def _processes(handle: Handle) -> tuple[list[GpuProcess], str | None]:
    """Each process once (one that computes and draws counts as computing), and why there is no list."""
    try:
        computing = pynvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
    except pynvml.NVMLError as failure:
        if failure.value == pynvml.NVML_ERROR_GPU_IS_LOST:
            raise
        return [], error_name(failure)
    computing += ask(pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3, handle) or []
    drawing = ask(pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3, handle) or []
    kinds = [("graphics", drawing), ("compute", computing)]
    found = {
        process.pid: GpuProcess(pid=process.pid, used=process.usedGpuMemory, kind=kind)
        for kind, processes in kinds
        for process in processes
    }
    return list(found.values()), None


def _topology(indices: list[int]) -> str | None:
    """The longest path between any two GPUs."""
    handles = [ask(pynvml.nvmlDeviceGetHandleByIndex, index) for index in indices]
    levels = [ask(pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other) for one, other in combinations(handles, 2)]
    known = [level for level in levels if level is not None]
    return TOPOLOGIES.get(max(known)) if known else None


if __name__ == "__main__":
    import sys

    sys.stdout.write(read_nvml().model_dump_json(exclude_none=True))
