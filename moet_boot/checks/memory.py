"""How much memory there is, against the forecast: MEM.AVAILABLE, MEM.FREE, MEM.DIRTY, MEM.TRANSIENT."""

from moet_boot.checks.finding import Answer, Case, Check, Status, check, passed, refuse, unseen, warn
from moet_boot.checks.scope import STAGING, UNIFIED
from moet_boot.forecast import Staging
from moet_boot.forecast.staging import LAYER_BYTES
from moet_boot.machine.snapshot import MemInfo
from moet_boot.units import KIB, format_bytes, from_gib

NOTES = "field notes on unified memory"
DRIVER_FREE_BYTES = from_gib(3)
"""The driver has been seen to refuse allocations at about this much MemFree."""

OBSERVED_STAGING_BYTES = from_gib(51)
"""What one host was seen to stage without caches; the code adds up to 137.06 GiB (planes.md f.5)."""
OBSERVED_NEED_BYTES = from_gib(64)
"""The host RAM that goes with it (field bands, rtx6000-a)."""

STAGING_WHY = (
    "every layer that the cache does not serve is kept in host RAM until the whole checkpoint is loaded."
    " The code adds up to 137.06 GiB for all 43; one host was seen at about 51 GiB"
)
STAGING_FIX = (
    "fetch or convert a complete planes cache (moet-boot planes skip-forecast says why a layer misses), use a host"
    " with more RAM, or add temporary swap"
)
STAGING_SOURCE = "vLLM-Moet pull request 16 (code); the 51 GiB are published for one host"

LARGE_PROCESS_BYTES = from_gib(4)
"""From here a process is named when memory is short."""

LARGE_BYTES = from_gib(10)
"""Whoever holds this much is to be named as a cause, whatever else is missing."""


def available_bytes(case: Case) -> int | None:
    """MemAvailable; None when meminfo was not read or is that of a kernel without it."""
    return case.snapshot.meminfo.available_bytes if case.snapshot.meminfo else None


def short_bytes(case: Case) -> int:
    """How much MemAvailable is below what the boot needs before any staging; 0 when it is not, or not known."""
    available = available_bytes(case)
    return 0 if available is None else max(case.forecast.steady_host_bytes - available, 0)


def is_cause(case: Case, held_bytes: int) -> bool:
    """Whether memory is short and what somebody holds is a cause: it would cover the gap, or it is large."""
    short = short_bytes(case)
    return short > 0 and held_bytes >= min(short, LARGE_BYTES)


@check("MEM.AVAILABLE", "memory available before the start", needs=("meminfo",), blind=Status.REFUSE)
def available(case: Case) -> Answer:
    """MemAvailable against the forecast with its floors and the published minimum."""
    meminfo = case.snapshot.meminfo
    seen = available_bytes(case)
    if meminfo is None or seen is None:
        return unseen(case, "MemAvailable", Status.REFUSE)
    too_small = _too_small(case, meminfo)
    if too_small is not None:
        return too_small
    need = case.forecast.steady_host_bytes
    comfortable = max(from_gib(case.profile.memory.comfortable_available_gib or 0), need)
    measured = f"{format_bytes(seen)} available of {format_bytes(meminfo.total_bytes)} (MemAvailable)"
    if seen < need:
        return _short(case, measured, need, seen)
    if seen < comfortable:
        return warn(
            measured,
            f"{format_bytes(comfortable)} to be comfortable, {format_bytes(need)} at least",
            why=f"it fits with nothing to spare; the peak is {case.forecast.worst.phase.words}",
            fix="close what is not needed, or watch the first boot",
            source=case.profile.memory.source,
        )
    return passed(measured, f"{format_bytes(need)} at least")


def _too_small(case: Case, meminfo: MemInfo) -> Answer | None:
    least = case.profile.hardware.min_host_memory_bytes
    if least is None or meminfo.total_bytes >= least:
        return None
    return refuse(
        f"{format_bytes(meminfo.total_bytes)} of memory in all",
        f"{format_bytes(least)} (profile {case.profile.name})",
        why=case.profile.hardware.why,
        fix="choose a profile for this machine: moet-boot profiles list",
        source=case.profile.hardware.source,
        acceptable=False,
    )


def _short(case: Case, measured: str, need: int, seen: int) -> Answer:
    worst = case.forecast.worst
    parts = sorted(
        (term for term in case.forecast.terms if term.name != "staging" and term.held_in(worst.phase)),
        key=lambda term: -term.bytes,
    )
    pool = parts if case.forecast.unified else [term for term in parts if term.pool == "host"]
    named = ", ".join(f"{term.name} {format_bytes(term.bytes)}" for term in pool[:4])
    tolerance = from_gib(case.profile.guard.hard_floor_gib) // 2
    return refuse(
        f"{measured}: {format_bytes(need - seen)} short{_large_processes(case)}{_large_slab(case)}",
        f"{format_bytes(need)} = {named}, ... and what must stay free, or the published minimum",
        why=_why_short(case),
        fix=f"free {format_bytes(need - seen)} (other findings name who holds it), then wait until MemAvailable"
        f" shows {format_bytes(need)}: memory comes back late after a stop",
        source=f"{case.profile.memory.source}; {NOTES}, section 7",
        acceptable=need - seen <= tolerance,
    )


def _large_processes(case: Case) -> str:
    """Whose memory could be got back: the largest processes by resident memory, driver pages apart."""
    sizes = [(p.rss_bytes or 0, p) for p in case.snapshot.processes or []]
    large = sorted((pair for pair in sizes if pair[0] >= LARGE_PROCESS_BYTES), key=lambda pair: -pair[0])[:3]
    names = [f"{p.name} (pid {p.pid or 'unknown'}, {format_bytes(size)})" for size, p in large]
    return f"; resident: {', '.join(names)}" if names else ""


def _large_slab(case: Case) -> str:
    """Kernel memory is in no process and in no cache that can be dropped, so nothing else would name it."""
    size = case.snapshot.meminfo.s_unreclaim * KIB if case.snapshot.meminfo else 0
    found = f"; kernel memory that cannot be reclaimed: {format_bytes(size)} (slabtop -o -s c says whose)"
    return found if size >= LARGE_PROCESS_BYTES else ""


def _why_short(case: Case) -> str:
    worst = case.forecast.worst
    taken = worst.total_bytes if case.forecast.unified else worst.host_bytes
    why = f"{worst.phase.words} takes {format_bytes(taken)} and {format_bytes(worst.floor_bytes)} must stay free"
    if not case.forecast.unified:
        return f"{why}, or the machine swaps and kills"
    return f"{why}: below about 3 GiB the GPU driver spins in reclaim and the machine freezes, killing nothing"


@check("MEM.FREE", "memory that nobody uses, page cache apart", needs=("meminfo",), scope=UNIFIED)
def free(case: Case) -> Answer:
    """MemFree, gated by MemAvailable: low because of page cache is healthy and slow, never a refusal."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo")
    measured = f"{format_bytes(meminfo.free_bytes)} free (MemFree), {format_bytes(meminfo.cached * KIB)} page cache"
    if meminfo.free_bytes >= DRIVER_FREE_BYTES:
        return passed(measured, f"{format_bytes(DRIVER_FREE_BYTES)} that the driver gets without reclaim")
    return warn(
        measured,
        f"{format_bytes(DRIVER_FREE_BYTES)} that the driver gets without reclaim",
        why="page cache is free memory with latency: the driver takes it through reclaim, and loads get slow",
        fix="drop clean cache once before the start (as root): sync; echo 3 > /proc/sys/vm/drop_caches",
        source=f"{NOTES}, sections 2 and 4",
    )


@check("MEM.DIRTY", "page cache that is written already", needs=("meminfo",), scope=UNIFIED)
def dirty(case: Case) -> Answer:
    """MemAvailable counts cache that must reach the disk first; the driver takes memory faster than a disk writes."""
    meminfo, seen = case.snapshot.meminfo, available_bytes(case)
    if meminfo is None or seen is None:
        return unseen(case, "MemAvailable")
    need, unwritten = case.forecast.steady_host_bytes, meminfo.unwritten_bytes
    measured = f"{format_bytes(unwritten)} of page cache waits to be written to a disk (Dirty, Writeback)"
    if unwritten < from_gib(1) or seen < need or seen - unwritten >= need:
        return passed(measured)
    return warn(
        f"{measured}: {format_bytes(seen - unwritten)} available without it",
        f"{format_bytes(need)} available without it",
        why="MemAvailable is too high by what must be written first: the driver then waits in reclaim, which is how"
        " a freeze begins",
        fix="let copies and downloads end, run sync, and run the preflight again",
        source=f"{NOTES}, section 2",
    )


@check("MEM.TRANSIENT", "host RAM for experts that are staged", needs=("meminfo",), scope=STAGING)
def transient(case: Case) -> Answer:
    """The host RAM that every missed layer takes until the checkpoint is loaded (planes.md f.5)."""
    staged, seen = case.forecast.staging, available_bytes(case)
    if staged is None or seen is None:
        return unseen(case, "MemAvailable", Status.REFUSE)
    if not staged.known:
        # what nobody looked at matters when the worst of it would not fit
        worst = min(case.forecast.steady_host_bytes + staged.layers * LAYER_BYTES, OBSERVED_NEED_BYTES)
        blind = Status.WARN if seen + _free_swap(case) >= worst else Status.REFUSE
        return unseen(case, f"state of the {staged.store}", blind, reader="stores")
    if not staged.missed:
        return passed(f"no layer of {staged.layers} is staged: the {staged.store} serves them all")
    return _staged(case, staged, seen)


def _staged(case: Case, staged: Staging, seen: int) -> Answer:
    need = case.forecast.host_required_bytes
    least = min(need, OBSERVED_NEED_BYTES)
    swap = _free_swap(case)
    measured = (
        f"{staged.missed} of {staged.layers} layers are staged in host RAM ({format_bytes(staged.staged_bytes)});"
        f" {format_bytes(seen)} of host RAM available, {format_bytes(swap)} of free swap. {staged.problem}"
    )
    if seen >= need:
        return passed(measured, f"{format_bytes(need)} of host RAM")
    required = f"{format_bytes(need)} of host RAM ({format_bytes(least)} by the only observation)"
    if seen + swap >= least:
        return warn(measured, required, why=STAGING_WHY, fix=STAGING_FIX, source=STAGING_SOURCE)
    return refuse(
        measured,
        required,
        why=STAGING_WHY,
        fix=STAGING_FIX,
        source=STAGING_SOURCE,
        acceptable=seen + swap >= OBSERVED_STAGING_BYTES,
    )


def _free_swap(case: Case) -> int:
    by_total = case.snapshot.meminfo.swap_free if case.snapshot.meminfo else 0
    return max(by_total, sum(row.size_kb - row.used_kb for row in case.snapshot.swaps or [])) * KIB


CHECKS: tuple[Check, ...] = (available, free, dirty, transient)
