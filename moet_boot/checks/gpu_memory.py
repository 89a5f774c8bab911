"""Room on the GPU: GPU.VRAM, GPU.VRAM_FREE, GPU.PROCESSES."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.gpu import cards, needed
from moet_boot.checks.memory import LARGE_BYTES, NOTES, available_bytes, is_cause
from moet_boot.checks.memory_held import just_stopped
from moet_boot.checks.scope import GPU_ANSWERS, OWN_MEMORY
from moet_boot.checks.tenants import Tenant, tenants, unlisted_processes
from moet_boot.machine.snapshot import Gpu
from moet_boot.profile.model import MemoryKind
from moet_boot.units import format_bytes, from_gib

ACCEPTABLE_SHORT_BYTES = from_gib(1)


@check("GPU.VRAM", "the card is large enough", needs=("nvml",), scope=OWN_MEMORY)
def vram(case: Case) -> Answer:
    """The card's whole memory against the parts of the boot, one sequence of KV cache among them."""
    found = cards(case)
    if not found:
        return skip("no GPU to look at")
    card = min(found, key=lambda gpu: gpu.memory.total or 0)
    total = card.memory.total
    if total is None:
        return unseen(case, f"VRAM size of GPU {card.index}")
    need, kv = case.forecast.gpu_peak_bytes, case.forecast.kv
    measured = f"GPU {card.index}: {format_bytes(total)}"
    if kv is not None and kv.bytes < kv.one_sequence_bytes:
        return refuse(
            f"{measured}, {format_bytes(kv.bytes)} of it left for the KV cache",
            f"{format_bytes(kv.one_sequence_bytes)} for one sequence of {kv.context_tokens:,} tokens",
            why="weights and pools leave no room for one request: the engine ends its boot",
            fix="shorten --max-model-len, shrink VLLM_MOE_W2_DELTA_GB, or raise --gpu-memory-utilization",
            source=case.profile.memory.source,
            acceptable=False,
        )
    if need > total:
        return refuse(
            measured,
            f"{format_bytes(need)} for weights, pools and KV cache",
            why="the parts of this boot do not fit the card",
            fix="choose a profile or settings for this card: moet-boot profiles recommend",
            source=case.profile.memory.source,
            acceptable=need - total <= ACCEPTABLE_SHORT_BYTES,
        )
    published = needed(case).memory_bytes or 0
    if total < published:
        return warn(
            measured,
            f"{format_bytes(published)} (profile {case.profile.name})",
            why="smaller than the card that the figures were measured on",
            fix="expect less KV cache, and watch the first boot",
            source=needed(case).source,
        )
    return passed(measured, f"{format_bytes(max(need, published))}")


@check("GPU.VRAM_FREE", "free memory on the chosen GPU", needs=("nvml",), scope=OWN_MEMORY)
def vram_free(case: Case) -> Answer:
    """Free VRAM of the card that will be used, as the engine will ask for it at its start."""
    for card in cards(case):
        free = _free(card)
        if free is None and card.memory.error:
            return _no_figure(card)
        if free is None:
            return unseen(case, f"free VRAM of GPU {card.index}")
        need = case.forecast.gpu_required_bytes
        if free < need:
            return _occupied(case, card, free, need)
    found = cards(case)
    if not found:
        return skip("no GPU to look at")
    free = min(_free(card) or 0 for card in found)
    return passed(f"GPU {found[0].index}: {format_bytes(free)} free", format_bytes(case.forecast.gpu_required_bytes))


def _no_figure(card: Gpu) -> Answer:
    return warn(
        f"NVML says {card.memory.error} for the memory of GPU {card.index}",
        "its size and what is used of it",
        why="a card with memory of its own has these figures: without them nobody knows whether there is room",
        fix="look at it with nvidia-smi; a reboot loads the driver anew",
    )


def _occupied(case: Case, card: Gpu, free: int, need: int) -> Answer:
    holders = ", ".join(str(tenant) for tenant in tenants([card])) or "no live process"
    other = _empty(case, card, need)
    elsewhere = f"use GPU {other}, which is free: CUDA_VISIBLE_DEVICES={other} moet-boot ...; or " if other else ""
    return refuse(
        f"GPU {card.index}: {format_bytes(free)} free of {format_bytes(card.memory.total or 0)},"
        f" {format_bytes(card.memory.used or 0)} used by {holders}",
        f"{format_bytes(need)} free",
        why=f"the engine asks for its whole share at its start. {needed(case).why}",
        fix=elsewhere + _release(case, card),
        source=needed(case).source,
        acceptable=need - free <= ACCEPTABLE_SHORT_BYTES,
    )


def _release(case: Case, card: Gpu) -> str:
    if tenants([card]):
        return "end the process that holds it and wait until the memory is free"
    stopped = just_stopped(case)
    if stopped is not None:
        return f"wait until the driver has released what container {stopped.name} held, and look again"
    return "memory without a process needs a GPU reset (nvidia-smi -r) or a reboot"


def _empty(case: Case, busy: Gpu, need: int) -> str:
    nvml = case.snapshot.nvml
    others = [gpu for gpu in nvml.gpus if gpu.index != busy.index and gpu.cc == busy.cc] if nvml else []
    return next((str(gpu.index) for gpu in others if (_free(gpu) or 0) >= need), "")


def _free(card: Gpu) -> int | None:
    if card.memory.total is None or card.memory.used is None:
        return None
    return max(card.memory.total - card.memory.used, 0)


@check("GPU.PROCESSES", "who else holds the GPU", needs=("nvml",), scope=GPU_ANSWERS)
def processes(case: Case) -> Answer:
    """Tenants of the cards in question: fatal where they take what the boot needs, else worth a word."""
    nvml = case.snapshot.nvml
    unified = case.profile.hardware.memory is MemoryKind.UNIFIED
    found = (nvml.gpus if nvml else []) if unified else cards(case)
    others = tenants(found)
    unlisted = unlisted_processes(nvml)
    if not others and unlisted:
        return warn(
            unlisted,
            "the processes of each GPU",
            why="who holds GPU memory cannot be named; how much is free is judged all the same",
            fix="look for other servers yourself: docker ps, ps aux",
        )
    if not others:
        small = sum(len(card.processes) for card in found)
        return passed(f"{small} small processes (displays)" if small else "no GPU process", "no other tenant")
    names = ", ".join(str(tenant) for tenant in others)
    answer = refuse if _takes_too_much(case, found, others) else warn
    return answer(
        f"GPU process {names}",
        "no other tenant",
        why="a tenant's memory comes out of the same pool" if unified else "what it holds is missing for this boot",
        fix=f"{_end(others)}; then wait until the memory is back ({_until(case)})",
        source=f"{NOTES}, section 7" if unified else needed(case).source,
    )


def _takes_too_much(case: Case, found: list[Gpu], others: list[Tenant]) -> bool:
    if case.forecast.unified:
        held = sum(LARGE_BYTES if tenant.used is None else tenant.used for tenant in others)
        return available_bytes(case) is None or is_cause(case, held)
    return any((free := _free(card)) is None or free < case.forecast.gpu_required_bytes for card in found)


def _end(others: list[Tenant]) -> str:
    pids = " ".join(str(tenant.pid) for tenant in others)
    return f"stop its container or service (docker stop -t 5 NAME), or end an orphan: kill {pids}"


def _until(case: Case) -> str:
    if case.forecast.unified:
        return f"MemAvailable at {format_bytes(case.forecast.steady_host_bytes)}"
    return f"{format_bytes(case.forecast.gpu_required_bytes)} of free VRAM"


CHECKS: tuple[Check, ...] = (vram, vram_free, processes)
