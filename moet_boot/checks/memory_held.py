"""Memory that no boot will get: MEM.HELD, MEM.HUGETLB, MEM.SHMEM."""

from moet_boot.checks.finding import Answer, Case, Check, Status, check, passed, refuse, unseen, warn
from moet_boot.checks.gpu import hangs
from moet_boot.checks.memory import NOTES, available_bytes, is_cause, short_bytes
from moet_boot.checks.scope import UNIFIED
from moet_boot.checks.tenants import attributed_bytes, looks_like_engine, tenants, unlisted_processes
from moet_boot.machine.snapshot import ExitedContainer, MemInfo
from moet_boot.units import KIB, format_bytes, from_gib

IDLE_RESIDUAL_BYTES = from_gib(5)
"""An idle driver holds 1 to 5 GiB; more with no GPU process is trapped (unified-memory.md 1, policy 7)."""
SETTLE_SECONDS = 600.0
"""A stopped container's memory was back after 1 to 4 minutes (unified-memory.md 7); twice that and more is a leak."""
SMALL_SHMEM_BYTES = from_gib(2)

WAIT_FIX = (
    "wait and poll MemAvailable until it stops rising and reaches {need}: moet-boot preflight again in a minute;"
    " if it has not come back after 10 minutes, reboot"
)


@check(
    "MEM.HELD", "memory held by something that is no process", needs=("meminfo",), blind=Status.REFUSE, scope=UNIFIED
)
def held(case: Case) -> Answer:
    """The residual of meminfo less what live GPU processes answer for: a leak that only a reboot frees."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo", Status.REFUSE)
    cards = case.snapshot.nvml.gpus if case.snapshot.nvml else []
    nobodys = meminfo.residual_bytes - attributed_bytes(cards)
    if (meminfo.cma_free or 0) > (meminfo.cma_total or 0):
        return _cma(case, meminfo, nobodys)
    measured = f"{format_bytes(max(nobodys, 0))} unaccounted for (no meminfo field, no live GPU process){_stuck(case)}"
    if nobodys <= IDLE_RESIDUAL_BYTES:
        return passed(measured, f"at most {format_bytes(IDLE_RESIDUAL_BYTES)} for an idle driver")
    return _unexplained(case, measured, nobodys)


def _unexplained(case: Case, measured: str, nobodys: int) -> Answer:
    need = format_bytes(case.forecast.steady_host_bytes)
    required = f"at most {format_bytes(IDLE_RESIDUAL_BYTES)} with no GPU process"
    source = f"{NOTES}, sections 1 and 7"
    if not is_cause(case, nobodys):
        return warn(
            measured,
            required,
            why="the driver keeps more than an idle one does; failed boots leave a little behind each time",
            fix="nothing now: it is not what keeps the boot from fitting. Reboot when it grows",
            source=source,
        )
    alive = _alive(case)
    if alive:
        return warn(
            measured,
            required,
            why=f"driver pages show in no process, and {alive} is alive: it is the likely owner",
            fix=f"end it (its whole process group, or docker stop), then {WAIT_FIX.format(need=need)}",
            source=source,
        )
    unlisted = unlisted_processes(case.snapshot.nvml)
    if unlisted and just_stopped(case) is None:
        return warn(
            f"{measured}; {unlisted}",
            required,
            why="a live process may own it: whether it is trapped cannot be told",
            fix=f"look for servers (docker ps, ps aux), end them, and {WAIT_FIX.format(need=need)}",
            source=source,
        )
    why, fix = _trapped(case, need)
    return refuse(measured, required, why=why, fix=fix, source=source)


def _alive(case: Case) -> str:
    """Live processes that may own what nobody answers for, in words; empty without any."""
    cards = case.snapshot.nvml.gpus if case.snapshot.nvml else []
    names = [str(tenant) for tenant in tenants(cards)]
    servers = [process for process in case.snapshot.processes or [] if looks_like_engine(process)]
    return ", ".join(names or [f"{server.name} (pid {server.pid})" for server in servers])


def _trapped(case: Case, need: str) -> tuple[str, str]:
    """Why memory is held although no process is left, and what frees it."""
    stopped = just_stopped(case)
    if stopped is not None:
        seconds = f"{stopped.seconds_ago:.0f} s ago" if stopped.seconds_ago is not None else "a short while ago"
        why = f"container {stopped.name} exited {seconds}: exited is not released, the driver is still unwinding"
        return why, WAIT_FIX.format(need=need)
    why = (
        "driver memory whose process is gone stays trapped in the kernel driver: restarting containers or docker"
        " does not return it"
    )
    return why, "reboot; nothing less was seen to help"


def just_stopped(case: Case) -> ExitedContainer | None:
    """A container with a GPU that ended so recently that the driver may still hold its memory."""
    exited = case.snapshot.docker.recently_exited if case.snapshot.docker else []
    recent = (c for c in exited if c.gpu and (c.seconds_ago is None or c.seconds_ago < SETTLE_SECONDS))
    return next(recent, None)


def _stuck(case: Case) -> str:
    cards = case.snapshot.nvml.gpus if case.snapshot.nvml else []
    for card in cards:
        if hangs(card):
            return f"; GPU {card.index} shows {card.utilization_pct:.0f} % at {card.power_w:.0f} W: it hangs"
    return ""


def _cma(case: Case, meminfo: MemInfo, nobodys: int) -> Answer:
    free, total = (meminfo.cma_free or 0) * KIB, (meminfo.cma_total or 0) * KIB
    seen = available_bytes(case) or 0
    answer = refuse if short_bytes(case) or nobodys > IDLE_RESIDUAL_BYTES else warn
    return answer(
        f"CmaFree {format_bytes(free)} is more than CmaTotal {format_bytes(total)}; {format_bytes(seen)} available"
        f" (MemAvailable), {format_bytes(max(nobodys, 0))} unaccounted for",
        "CmaFree at most CmaTotal",
        why="the kernel released kexec-handover (KHO) scratch memory as CMA: idle MemFree is tens of GiB too low,"
        " and pinning fails under GPU pressure",
        fix="add kho=off to the kernel command line and reboot (safe while /sys/kernel/kexec_crash_size is 0)",
        source=f"{NOTES}, section 4 (kernel 7.0.0-1019)",
    )


@check("MEM.HUGETLB", "memory reserved for huge pages", needs=("meminfo",))
def hugetlb(case: Case) -> Answer:
    """A HugeTLB pool: memory that MemAvailable does not count and that no ordinary allocation gets."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo")
    pool = meminfo.huge_pool_bytes
    if not pool:
        return passed("no huge pages reserved", "none")
    if not (short_bytes(case) or case.forecast.unified):
        return passed(f"{format_bytes(pool)} in a HugeTLB pool", "enough memory beside it")
    answer = refuse if is_cause(case, pool) else warn
    return answer(
        f"{format_bytes(pool)} in a HugeTLB pool ({meminfo.huge_pages_total} huge pages of {meminfo.huge_page_size} kB,"
        f" {meminfo.huge_pages_free} free)",
        "no pool",
        why="pool pages are taken from everybody else, used or not, and the driver's allocations do not get them",
        fix="return them: sysctl -w vm.nr_hugepages=0, and remove the setting from /etc/sysctl.d",
        source=f"{NOTES}, section 6",
    )


@check("MEM.SHMEM", "shared memory and files in RAM", needs=("meminfo",))
def shmem(case: Case) -> Answer:
    """Shmem looks like page cache and cannot be dropped: segments of dead servers, files in a tmpfs."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo")
    size = meminfo.shmem_bytes
    measured = f"{format_bytes(size)} of shared memory (Shmem){_in_dev_shm(case)}"
    if size <= SMALL_SHMEM_BYTES or not (short_bytes(case) or case.forecast.unified):
        return passed(measured, f"at most {format_bytes(SMALL_SHMEM_BYTES)}")
    answer = refuse if is_cause(case, size) else warn
    return answer(
        measured,
        f"at most {format_bytes(SMALL_SHMEM_BYTES)}",
        why="it counts as cache and cannot be dropped: without swap it is lost to the boot. A server that was killed"
        " leaves psm_* and vllm_offload_* segments in the host's /dev/shm",
        fix="unlink segments in /dev/shm whose owner is dead (fuser /dev/shm/* names the owners), move files to a"
        " real filesystem",
        source=f"{NOTES}, section 6",
    )


def _in_dev_shm(case: Case) -> str:
    place = (case.snapshot.fs or {}).get("shm")
    if place is None or place.used_bytes is None:
        return ""
    return f", {format_bytes(place.used_bytes)} of it in {place.path}"


CHECKS: tuple[Check, ...] = (held, hugetlb, shmem)
