"""The right GPU in the right state: GPU.PRESENT, GPU.COUNT, GPU.MODEL, GPU.DRIVER, GPU.MODE, GPU.KERNELS."""

from moet_boot.checks.cuda_code import runs_on
from moet_boot.checks.finding import Answer, Case, Check, Status, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.scope import GPU, GPU_ANSWERS, IMAGE_ON_GPU
from moet_boot.checks.tenants import is_display
from moet_boot.forecast.gpu_choice import chosen_gpus, used_gpus
from moet_boot.machine.snapshot import Gpu, Nvml
from moet_boot.profile.model import GpuRequirement, MemoryKind

CUDA_DRIVER_BRANCH = {13: 580, 12: 525, 11: 450}
"""CUDA major -> oldest driver branch that runs it by minor version compatibility (NVIDIA, CUDA compatibility)."""
BLACKWELL_MAJOR = 10
"""Compute capabilities from here need the open kernel modules (NVIDIA driver README)."""
FIRST_BLACKWELL_BRANCH = 570
FATAL_XIDS = frozenset({48, 62, 64, 74, 79, 95, 119, 120, 140, 143, 154})
"""Xids after which a GPU needs a reset or is not to be trusted (NVIDIA, Xid errors)."""


SLOWED = ("thermal", "brake", "hw_slowdown")
HOT_C = 85.0
"""Spark boards were seen at 86 to 91 C without a clock cap (unified-memory.md 5)."""
STUCK_UTILIZATION_PCT = 90.0
STUCK_POWER_W = 12.0
"""A GPU that says 96 % at 10 to 12 W does not work (unified-memory.md 5)."""


def hangs(card: Gpu) -> bool:
    """Whether a GPU says that it is busy and draws what an idle one draws."""
    busy = (card.utilization_pct or 0) >= STUCK_UTILIZATION_PCT
    return busy and card.power_w is not None and card.power_w <= STUCK_POWER_W


def needed(case: Case) -> GpuRequirement:
    """The profile's GPU; only called where the scope is GPU."""
    gpu = case.profile.hardware.gpu
    if gpu is None:
        raise ValueError("this profile needs no GPU")
    return gpu


def cards(case: Case) -> list[Gpu]:
    """The cards that this boot will use."""
    return used_gpus(case.plan, case.snapshot, needed(case).count)


@check("GPU.PRESENT", "the GPU answers", needs=("nvml",), blind=Status.REFUSE, scope=GPU)
def present(case: Case) -> Answer:
    """NVML runs, the chosen cards exist, none is lost, the log holds no fatal driver error."""
    nvml = case.snapshot.nvml
    if nvml is None:
        return unseen(case, "nvml", Status.REFUSE)
    if nvml.init != "OK":
        return _no_driver(nvml)
    broken = _broken(case, nvml)
    if broken:
        return refuse(
            broken,
            "a GPU that answers",
            why="the driver has lost the GPU: nothing on it starts, and calls into the driver may hang",
            fix="reboot; if it happens again, check power, seating and the vendor's diagnostics",
        )
    choice = chosen_gpus(case.plan, case.snapshot)
    if not cards(case):
        there = ", ".join(str(gpu.index) for gpu in nvml.gpus) or "none"
        return refuse(
            f"no chosen GPU exists ({choice.decided_by}); GPUs of this machine: {there}",
            "a GPU of this machine",
            why="the server would see no GPU",
            fix="choose one that exists: CUDA_VISIBLE_DEVICES, or container.gpus in the profile",
        )
    return _logged(case, f"GPU {', '.join(str(card.index) for card in cards(case))} ({choice.decided_by})")


def _no_driver(nvml: Nvml) -> Answer:
    mismatch = "MISMATCH" in nvml.init
    return refuse(
        f"NVML says {nvml.init}",
        "NVML OK",
        why="the library and the loaded kernel module are of different versions: nothing can use the GPU"
        if mismatch
        else "without a working driver nothing can use the GPU",
        fix="reboot, so that the new kernel module is loaded"
        if mismatch
        else "install or load NVIDIA's driver (nvidia-smi must work), in a container add the GPU",
    )


def _broken(case: Case, nvml: Nvml) -> str:
    choice = chosen_gpus(case.plan, case.snapshot)
    failed = [f"GPU {gpu.index}: {gpu.error}" for gpu in nvml.gpus if gpu.error and gpu.index in choice.indices]
    lost = nvml.lost_gpus
    if isinstance(lost, int):
        failed += [f"{lost} GPUs lost"] if lost else []
    else:
        # a container that gets all cards does not start while one of them is lost
        failed += [f"GPU {index} lost" for index in lost or [] if index in choice.indices or not choice.narrowed]
    log = case.snapshot.kernel_log
    if log and log.rm_init_adapter_failed:
        failed.append("the kernel log says RmInitAdapter failed")
    return "; ".join(failed)


def _logged(case: Case, measured: str) -> Answer:
    seen = [str(xid) for xid in case.snapshot.kernel_log.xid] if case.snapshot.kernel_log else []
    fatal = [xid for xid in seen if xid.isdigit() and int(xid) in FATAL_XIDS]
    lost = case.snapshot.nvml.lost_gpus if case.snapshot.nvml else None
    worries = [f"Xid {', '.join(fatal)} in the kernel log since the boot"] if fatal else []
    worries += [f"GPU {index}, which is not used here, is lost" for index in (lost if isinstance(lost, list) else [])]
    if not worries:
        return passed(measured)
    return warn(
        "; ".join([measured, *worries]),
        "no lost GPU, no Xid that asks for a reset",
        why="the driver reported a fault after which the GPU may not be trusted",
        fix="reboot before a long run; look the number up in NVIDIA's Xid table",
    )


@check("GPU.COUNT", "as many GPUs as the profile needs", needs=("nvml",), scope=GPU_ANSWERS)
def count(case: Case) -> Answer:
    """The cards that the server will see, against the profile."""
    want, choice = needed(case).count, chosen_gpus(case.plan, case.snapshot)
    if choice.unclear:
        return skip(f"{choice.decided_by} names devices by UUID, and a snapshot has none")
    measured = f"{len(choice.indices)} visible ({choice.decided_by})"
    if len(choice.indices) >= want:
        return passed(measured, str(want))
    return refuse(
        measured,
        f"{want} GPU",
        why=f"profile {case.profile.name} is for {want}",
        fix="give the server more: CUDA_VISIBLE_DEVICES, or container.gpus in the profile",
    )


@check("GPU.MODEL", "the GPU that the profile is for", needs=("nvml",), scope=GPU_ANSWERS)
def model(case: Case) -> Answer:
    """Compute capability and kind of memory decide, the name is a hint."""
    want, found = needed(case), cards(case)
    if not found:
        return skip("no GPU to look at")
    card = found[0]
    measured = f"GPU {card.index}: {card.name or 'no name'}, compute capability {card.cc or 'unknown'}"
    required = f"{' or '.join(want.names)}, compute capability {want.compute_capability}"
    unified = case.profile.hardware.memory is MemoryKind.UNIFIED
    if card.cc not in {None, want.compute_capability} or card.integrated is (not unified):
        return refuse(
            measured + _memory_kind(card),
            required,
            why=f"profile {case.profile.name} and its kernels are for that GPU only. {want.why}",
            fix="choose the profile of this GPU: moet-boot profiles list",
            source=want.source,
        )
    if any(name.lower() in card.name.lower() for name in want.names):
        return passed(measured, required)
    return warn(
        measured,
        required,
        why="the same compute capability, another card: the profile's figures were not measured on it",
        fix="check memory and speed against the profile before relying on it",
        source=want.source,
    )


def _memory_kind(card: Gpu) -> str:
    return "" if card.integrated is None else f", {'unified' if card.integrated else 'its own'} memory"


@check("GPU.DRIVER", "a driver that runs the image's CUDA", needs=("nvml",), scope=GPU_ANSWERS)
def driver(case: Case) -> Answer:
    """Driver branch against profile and CUDA toolkit of the image; the CUDA that the driver offers too."""
    nvml = case.snapshot.nvml
    if nvml is None or (branch := _branch(nvml)) is None:
        return unseen(case, "driver version")
    toolkit = _toolkit(case)
    least = _least_branch(case, toolkit)
    measured = f"driver {nvml.driver} (CUDA {nvml.cuda_driver or 'unknown'}), image CUDA {toolkit or 'unknown'}"
    required = f"driver R{least} or newer"
    if branch < least:
        return refuse(
            measured,
            required,
            why="the CUDA runtime of the image needs a newer driver: the container hook refuses, or CUDA fails later",
            fix=f"install a driver of branch R{least} or newer and reboot",
            source=needed(case).source,
        )
    if nvml.module_flavour == "proprietary" and _is_blackwell(case):
        return warn(
            f"{measured}, proprietary kernel modules",
            "open kernel modules",
            why="GPUs of this generation work with the open kernel modules only",
            fix="install the -open flavour of the driver",
        )
    return passed(measured, required)


def _least_branch(case: Case, toolkit: str | None) -> int:
    """What the image's own toolkit needs; the profile's figure stands for an image that does not say."""
    by_toolkit = CUDA_DRIVER_BRANCH.get(_major(toolkit) or 0)
    by_card = FIRST_BLACKWELL_BRANCH if _is_blackwell(case) else 0
    return max(by_card, by_toolkit or needed(case).min_driver_branch or 0)


def _branch(nvml: Nvml) -> int | None:
    """The driver's branch; without a version, the oldest branch that offers the CUDA that NVML names."""
    return _major(nvml.driver) or CUDA_DRIVER_BRANCH.get(_major(nvml.cuda_driver) or 0)


def _toolkit(case: Case) -> str | None:
    docker = case.snapshot.docker
    return docker.image.cuda_toolkit if case.plan.runtime == "docker" and docker and docker.image else None


def _is_blackwell(case: Case) -> bool:
    return any((_major(card.cc) or 0) >= BLACKWELL_MAJOR for card in cards(case))


def _major(version: str | None) -> int | None:
    head = (version or "").partition(".")[0]
    return int(head) if head.isdigit() else None


@check("GPU.MODE", "the GPU is whole and open to the server", needs=("nvml",), scope=GPU_ANSWERS)
def mode(case: Case) -> Answer:
    """MIG splits a card, a compute mode closes it, heat slows it."""
    found = cards(case)
    if not found:
        return skip("no GPU to look at")
    for card in found:
        answer = _mode(card)
        if answer is not None:
            return answer
    return passed(f"compute mode {found[0].compute_mode or 'unknown'}, MIG {found[0].mig or 'unknown'}")


def _mode(card: Gpu) -> Answer | None:
    compute = (card.compute_mode or "").lower().replace("_", " ")
    computing = [process for process in card.processes if process.alive and not is_display(process)]
    if (card.mig or "").lower() == "enabled" or card.mig_devices:
        return refuse(
            f"GPU {card.index}: MIG enabled, {card.mig_devices or 0} instances",
            "MIG disabled",
            why="a MIG instance has a part of the memory only",
            fix=f"nvidia-smi -i {card.index} -mig 0 (as root, ends what runs on it)",
        )
    if compute == "prohibited" or (compute.startswith("exclusive") and computing):
        return refuse(
            f"GPU {card.index}: compute mode {card.compute_mode}, {len(computing)} processes that compute",
            "compute mode Default",
            why="the driver lets nobody else create a context",
            fix=f"nvidia-smi -i {card.index} -c DEFAULT (as root), or end the process that owns it",
        )
    if hangs(card) and not computing:
        return warn(
            f"GPU {card.index}: {card.utilization_pct:.0f} % busy at {card.power_w:.0f} W, with no process",
            "an idle GPU",
            why="a GPU that works draws 45 W and more: this one hangs, after an engine that died",
            fix="reboot; nothing less was seen to help",
            source="field notes on unified memory, sections 5 and 7",
        )
    hot = [reason for reason in card.throttle if any(word in reason.lower() for word in SLOWED)]
    if hot or (card.temp_c or 0) >= HOT_C:
        return warn(
            f"GPU {card.index}: {card.temp_c or 0:.0f} C{', slowed down: ' if hot else ''}{', '.join(hot)}",
            f"below {HOT_C:.0f} C and full clocks",
            why="a hot or underpowered GPU is slow, and some machines go down under the load of a boot",
            fix="check cooling and power; a clock cap (nvidia-smi -lgc) brought 86-91 C down to 65-71 C",
            source="field notes on unified memory, section 5",
        )
    return None


@check("GPU.KERNELS", "the image has code for this GPU", needs=("nvml", "docker"), scope=IMAGE_ON_GPU)
def kernels(case: Case) -> Answer:
    """Machine code of the image against the compute capability: `a` code runs on its own capability only."""
    image = case.snapshot.docker.image if case.snapshot.docker else None
    found = cards(case)
    if image is None or not image.cuda_archs or not found or found[0].cc is None:
        return skip("the architectures in the image, or the GPU's capability, are not known")
    measured = f"{image.ref} has code for {', '.join(image.cuda_archs)}; GPU {found[0].index} is {found[0].cc}"
    if runs_on(image.cuda_archs, found[0].cc):
        return passed(measured)
    return refuse(
        measured,
        f"code that runs on compute capability {found[0].cc} (sm_{found[0].cc.replace('.', '')})",
        why="nothing in the image runs here; the error (no kernel image) comes after minutes of loading, when the"
        " memory is already taken",
        fix=f"use the image of this machine's GPU, such as {case.plan.container.image}" if case.plan.container else "",
        source="CUDA programming guide, compute capabilities",
    )


CHECKS: tuple[Check, ...] = (present, count, model, driver, mode, kernels)
