"""What state the kernel's memory is in: MEM.CONTIGUOUS, SWAP, PRESSURE, CGROUP, WATERMARK, OVERCOMMIT."""

from typing import Literal

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, unseen, warn
from moet_boot.checks.memory import NOTES, available_bytes, is_cause, short_bytes
from moet_boot.checks.scope import GPU, UNIFIED
from moet_boot.machine.snapshot import BuddyInfo
from moet_boot.units import KIB, MIB, format_bytes, from_gib

BLOCK_BYTES = 32 * MIB
BLOCKS_NEEDED = 200
"""Equivalent 32 MiB blocks: the merged gate of the people who met it (unified-memory.md 4)."""
LARGE_BYTES = 16 * MIB
MEDIUM_BYTES = MIB
MEDIUM_BLOCKS_NEEDED = 1000
"""Free blocks of 1 MiB and more: 3,909 on a fresh boot, 0 to 49 on a serving node (unified-memory.md 4)."""
JUDGEABLE_FREE_BYTES = from_gib(16)
"""With less free memory than this, few large blocks say that it is in use, not that it is in pieces."""
LONG_UPTIME_S = 86_400.0
MANY_COMPACT_FAILS = 10_000
"""14 on a fresh box, 1.35 million on the one that only a reboot helped."""

PSI_FULL_PCT = 10.0
PSI_SOME_PCT = 25.0
MAJOR_FAULTS_PER_S = 1000.0
STALE_SWAP_BYTES = from_gib(1)

MIN_FREE_BYTES = 512 * MIB
STRICT_OVERCOMMIT = 2
USUAL_RATIO = 50
"""vm.overcommit_ratio of a kernel that nobody touched, in percent."""


@check("MEM.CONTIGUOUS", "free memory in large blocks", needs=("meminfo", "buddyinfo"), scope=UNIFIED)
def contiguous(case: Case) -> Answer:
    """Free memory in blocks of 16 MiB and more, on a kernel that has such blocks.

    Counts differ between kernels, so a refusal takes a second witness: long uptime and failed compactions.
    """
    buddy, meminfo = case.snapshot.buddyinfo, case.snapshot.meminfo
    if buddy is None or meminfo is None:
        return unseen(case, "buddyinfo")
    if _block(buddy, len(buddy.free_blocks_by_order) - 1) < LARGE_BYTES:
        return _medium_blocks(case, buddy)
    blocks = _free_in(buddy, LARGE_BYTES) / BLOCK_BYTES
    measured = f"{blocks:.0f} free 32 MiB blocks (or as much in 16 MiB ones), {format_bytes(meminfo.free_bytes)} free"
    required = f"{BLOCKS_NEEDED} contiguous 32 MiB blocks"
    if blocks >= BLOCKS_NEEDED:
        return passed(measured, required)
    aged, witness = _aged(case)
    if meminfo.free_bytes < JUDGEABLE_FREE_BYTES:
        return _in_use(f"{measured}; {witness}", required) if aged else passed(f"{measured}: in use, not in pieces")
    answer = refuse if aged else warn
    return answer(
        f"{measured}; {witness}",
        required,
        why="free memory is fragmented: with no large blocks a load of minutes took over ten, or the driver failed",
        fix="reboot; dropping caches and compacting brought back next to nothing",
        source=f"{NOTES}, section 4 (buddyinfo)",
    )


def _in_use(measured: str, required: str) -> Answer:
    return warn(
        measured,
        required,
        why="compaction has failed a lot, but most memory is in use now: whether what is behind the page cache is"
        " fragmented cannot be seen",
        fix="drop clean cache (as root: sync; echo 3 > /proc/sys/vm/drop_caches) and run the preflight again",
        source=f"{NOTES}, section 4 (buddyinfo)",
    )


def _medium_blocks(case: Case, buddy: BuddyInfo) -> Answer:
    blocks = sum(n for order, n in enumerate(buddy.free_blocks_by_order) if _block(buddy, order) >= MEDIUM_BYTES)
    free = case.snapshot.meminfo.free_bytes if case.snapshot.meminfo else 0
    measured = f"{blocks} free blocks of 1 MiB and more; this kernel has none of 16 MiB, which the gate counts"
    required = f"{MEDIUM_BLOCKS_NEEDED} blocks of 1 MiB and more"
    if blocks >= MEDIUM_BLOCKS_NEEDED or free < JUDGEABLE_FREE_BYTES:
        return passed(measured, required)
    return warn(
        measured,
        required,
        why="free memory is fragmented; what that costs on this kernel is not known",
        fix="reboot if loading crawls",
        source=f"{NOTES}, section 4 (buddyinfo)",
    )


def _aged(case: Case) -> tuple[bool, str]:
    uptime, vmstat = case.snapshot.uptime_s, case.snapshot.vmstat
    if uptime is None or vmstat is None:
        return False, "uptime and failed compactions are not known"
    aged = uptime >= LONG_UPTIME_S and vmstat.compact_fail >= MANY_COMPACT_FAILS
    return aged, f"up for {uptime / 86_400:.1f} days, {vmstat.compact_fail:,} failed compactions"


def _block(buddy: BuddyInfo, order: int) -> int:
    return buddy.page_kb * KIB << order if order >= 0 else 0


def _free_in(buddy: BuddyInfo, at_least: int) -> int:
    blocks = enumerate(buddy.free_blocks_by_order)
    return sum(count * _block(buddy, order) for order, count in blocks if _block(buddy, order) >= at_least)


@check("MEM.SWAP", "swap in use", needs=("meminfo",))
def swap(case: Case) -> Answer:
    """Swap that is configured is harmless; swap in use with stalls is a machine that thrashes."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo")
    rows = case.snapshot.swaps or []
    used = max(meminfo.swap_used_bytes, sum(row.used_kb for row in rows) * KIB)
    size = max(meminfo.swap_total, sum(row.size_kb for row in rows)) * KIB
    measured = f"{format_bytes(used)} of {format_bytes(size)} swap in use" if size else "no swap"
    if used < STALE_SWAP_BYTES:
        return passed(measured, f"less than {format_bytes(STALE_SWAP_BYTES)} in use")
    stalls = _thrashing(case)
    if stalls:
        return refuse(
            f"{measured}; {stalls}",
            "no swapping while a boot starts",
            why="a box that already swaps gets slower with everything that is started: one was lost for 9.5 hours",
            fix="end what is using the memory and wait until swap and memory pressure are down",
            source=f"{NOTES}, section 5",
        )
    return warn(
        measured,
        f"less than {format_bytes(STALE_SWAP_BYTES)} in use",
        why="stale swap is harmless by itself; what is swapped out comes back into the memory that the boot counts on",
        fix="if MemAvailable allows it, cycle it: swapoff -a && swapon -a",
        source=f"{NOTES}, sections 5 and 6",
    )


def _thrashing(case: Case) -> str:
    memory = case.snapshot.pressure.memory if case.snapshot.pressure else None
    if memory and memory.full_avg10 >= PSI_FULL_PCT:
        return f"memory pressure (PSI full avg10) {memory.full_avg10:.1f} %"
    faults = case.snapshot.vmstat.pgmajfault_per_s if case.snapshot.vmstat else 0.0
    return f"{faults:,.0f} major page faults a second" if faults >= MAJOR_FAULTS_PER_S else ""


@check("MEM.PRESSURE", "memory pressure now", needs=("pressure",))
def pressure(case: Case) -> Answer:
    """The share of time in which everything waits for memory (PSI)."""
    stall = case.snapshot.pressure.memory if case.snapshot.pressure else None
    if stall is None:
        return unseen(case, "memory pressure")
    measured = f"PSI full avg10 {stall.full_avg10:.1f} %, some avg10 {stall.some_avg10:.1f} %"
    required = f"memory pressure full below {PSI_FULL_PCT:.0f} %"
    if stall.full_avg10 < PSI_FULL_PCT and stall.some_avg10 < PSI_SOME_PCT:
        return passed(measured, required)
    answer = refuse if stall.full_avg10 >= PSI_FULL_PCT else warn
    return answer(
        measured,
        required,
        why="tasks wait for memory already; anything started now makes it worse",
        fix="find who needs the memory (top, sorted by RES), end it, and wait until the pressure is gone",
        source=f"{NOTES}, sections 2 and 5, policy 7",
    )


@check("MEM.CGROUP", "memory limits of the control group", needs=("cgroup",))
def cgroup(case: Case) -> Answer:
    """A limit that the server's CPU side would hit; on unified memory also one that promises what it cannot keep."""
    group = case.snapshot.cgroup
    if group is None:
        return unseen(case, "cgroup")
    container = case.snapshot.docker.run.memory_limit if case.snapshot.docker and case.snapshot.docker.run else None
    # a container does not live in the control group of the shell that starts it
    inherited = _limits(case, group.memory_max, group.memory_high)
    binding = _limits(case, container or "max") if case.plan.runtime == "docker" else []
    binding += inherited if case.plan.runtime == "process" else []
    every = [*binding, *inherited]
    if not every:
        return passed("no memory limit", "none below the need")
    host = case.forecast.cpu_side_bytes
    if binding and min(binding) < host:
        return _limit_too_low(case, min(binding), host)
    measured = f"memory limit of {format_bytes(min(every))} (docker --memory or cgroup memory.max)"
    if not case.forecast.unified:
        return passed(measured, f"{format_bytes(host)} for the engine's host side")
    return warn(
        measured,
        "no limit: it protects nothing here",
        why="pages of the GPU driver are in no cgroup: a 12 GiB CUDA allocation moved one by 0.4 GiB, and a host froze"
        " behind a 69 GiB limit. It can only kill the engine's CPU side",
        fix="start without --memory and leave the protection to moet-boot's memory guard",
        source=f"{NOTES}, sections 2 and 8",
    )


def _limits(case: Case, *limits: int | Literal["max"]) -> list[int]:
    """Those that limit: above the machine's own memory is how version 1 writes unlimited."""
    total = case.snapshot.meminfo.total_bytes if case.snapshot.meminfo else None
    return [limit for limit in limits if isinstance(limit, int) and (total is None or limit < total)]


def _limit_too_low(case: Case, limit: int, host: int) -> Answer:
    return refuse(
        f"memory limit of {format_bytes(limit)} (docker --memory or cgroup memory.max)",
        f"{format_bytes(host)} for the engine's host side",
        why="the kernel kills the engine's processes inside the cgroup as soon as they pass the limit",
        fix="raise the limit (docker --memory, systemd MemoryMax=) or start without one",
        source=case.profile.memory.source,
    )


@check("MEM.WATERMARK", "memory that the kernel keeps for itself", needs=("meminfo", "sysctl"), scope=UNIFIED)
def watermark(case: Case) -> Answer:
    """vm.min_free_kbytes lowers MemAvailable at once, and with a boost factor the kept part can grow later."""
    sysctl = case.snapshot.sysctl or {}
    kept = sysctl.get("vm.min_free_kbytes")
    seen = available_bytes(case)
    if kept is None or seen is None:
        return unseen(case, "vm.min_free_kbytes")
    size = kept * KIB
    measured = f"vm.min_free_kbytes = {kept} ({format_bytes(size)})"
    required = f"vm.min_free_kbytes at most {MIN_FREE_BYTES // KIB} ({format_bytes(MIN_FREE_BYTES)})"
    if size <= MIN_FREE_BYTES:
        return passed(measured, required)
    # the high watermark is 1.5 x min at the usual scale; a boost lifts it by factor/10000 of itself
    high = round(1.5 * size)
    growth = round(high * max(sysctl.get("vm.watermark_boost_factor", 0), 0) / 10_000)
    fits = seen - growth >= case.forecast.steady_host_bytes
    harmless = fits or (short_bytes(case) > 0 and not is_cause(case, high + growth))
    answer = warn if harmless else refuse
    return answer(
        f"{measured}; a boost could keep {format_bytes(growth)} more",
        required,
        why="MemAvailable subtracts what the kernel keeps: 4 GiB set before a launch cost 6.2 GiB of it and failed"
        " the engine's own start check",
        fix="set it back before the start: sysctl -w vm.min_free_kbytes=67584; raise it after the start if you must",
        source=f"{NOTES}, section 6",
    )


@check("MEM.OVERCOMMIT", "memory may be promised", needs=("sysctl",), scope=GPU)
def overcommit(case: Case) -> Answer:
    """Strict accounting counts what is reserved as if it were used (kernel documentation, overcommit accounting)."""
    sysctl = case.snapshot.sysctl or {}
    mode = sysctl.get("vm.overcommit_memory")
    if mode is None:
        return unseen(case, "vm.overcommit_memory")
    measured, required = f"vm.overcommit_memory = {mode}", "0 (the default) or 1"
    if mode != STRICT_OVERCOMMIT:
        return passed(measured, required)
    ratio = sysctl.get("vm.overcommit_ratio", USUAL_RATIO)
    return warn(
        f"{measured}, vm.overcommit_ratio = {ratio}",
        required,
        why=f"all processes together may then reserve swap and {ratio} % of the memory, used or not, and an engine"
        " reserves far more than it uses: allocations fail while memory is free",
        fix="sysctl -w vm.overcommit_memory=0 before the start",
        source="kernel documentation, overcommit accounting",
    )


CHECKS: tuple[Check, ...] = (contiguous, swap, pressure, cgroup, watermark, overcommit)
