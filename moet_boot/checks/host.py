"""The machine around it: HOST.ARCH, KERNEL, LIMITS, MEMLOCK, SHM, WSL, KILLER, CLOCK."""

from typing import assert_never

from moet_boot.checks.finding import Answer, Case, Check, Sight, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.killers import Killer, killer_of
from moet_boot.checks.memory import NOTES, available_bytes
from moet_boot.checks.scope import GPU, PROCESS, UNIFIED
from moet_boot.units import MIB, format_bytes, from_gib

LEAST_FILES = 4096
"""vLLM opens shards, sockets and pipes by the hundred; 1024 is the usual soft limit of a login."""
RAISED_FILES = 65_535
"""vLLM raises its own soft limit to this at its start, where the hard limit allows it (0.32.0, set_ulimit)."""
DOCKER_SHM_BYTES = 64 * MIB
"""What a container has when nobody asks for more (docker run, --shm-size)."""
LEAST_SHM_BYTES = from_gib(1)
"""The published commands give 64 GiB; what is enough between that and Docker's own is moet-boot's judgement."""
GUARD_BYTES = 256 * MIB
"""The guard locks all that it maps, about 150 MiB of address space (measured; 18 MiB of it resident)."""
LEAST_YEAR = 2025


@check("HOST.ARCH", "architecture of the machine", needs=("arch",))
def arch(case: Case) -> Answer:
    """The profile's architectures against the machine's."""
    want = case.profile.hardware.architectures
    if case.snapshot.arch in want:
        return passed(str(case.snapshot.arch), " or ".join(want))
    return refuse(
        f"architecture {case.snapshot.arch}",
        " or ".join(want),
        why=case.profile.hardware.why,
        fix="choose a profile for this machine: moet-boot profiles list",
        source=case.profile.hardware.source,
    )


@check("HOST.KERNEL", "kernel and what it logged", needs=("kernel",))
def kernel(case: Case) -> Answer:
    """Kills and unclean stops are advice; lines of the driver about memory are a note and never a verdict."""
    log, last = case.snapshot.kernel_log, case.snapshot.last_boot
    notes = [f"kernel {case.snapshot.kernel}"]
    if log and log.nv_err_no_memory_since_boot:
        notes.append(f"{log.nv_err_no_memory_since_boot} NV_ERR_NO_MEMORY lines (seen on working boxes too)")
    worries = []
    if log and log.oom_kill_since_boot:
        worries.append(f"{log.oom_kill_since_boot} kills by the kernel for lack of memory since the boot")
    if last and last.clean_shutdown is False:
        worries.append("the last shutdown was not clean")
    translated = _peer_traffic_translated(case)
    if translated:
        worries.append("the IOMMU translates traffic between GPUs")
    if not worries:
        return passed(", ".join(notes))
    return warn(
        ", ".join([*notes, *worries]),
        "a quiet history",
        why="a machine that went down or killed before may do so again, and not every freeze is memory",
        fix="read the journal of the last boot (journalctl -b -1 -e) before a long run"
        f"{'; for several GPUs boot with iommu=pt' if translated else ''}",
        source=f"{NOTES}, section 5",
    )


def _peer_traffic_translated(case: Case) -> bool:
    """IOMMU translation hangs the collectives of several cards; one card has none."""
    gpu = case.profile.hardware.gpu
    if gpu is None or gpu.count < 2:  # noqa: PLR2004  (a collective takes two)
        return False
    words = (case.snapshot.cmdline or "").split()
    return any(word in {"amd_iommu=on", "intel_iommu=on", "iommu=force"} for word in words) and "iommu=pt" not in words


@check("HOST.LIMITS", "limits that the server inherits", needs=("limits",), scope=PROCESS)
def limits(case: Case) -> Answer:
    """Open files; a container gets its limits from the daemon."""
    allowed = case.snapshot.limits.nofile if case.snapshot.limits else None
    if allowed is None or allowed >= LEAST_FILES:
        return passed(f"{'unlimited' if allowed is None else allowed} open files", str(LEAST_FILES))
    hard = case.snapshot.limits.nofile_hard if case.snapshot.limits else None
    if hard == "unlimited" or (hard or 0) >= RAISED_FILES:
        return passed(f"{allowed} open files, which the engine raises to {RAISED_FILES} itself", str(LEAST_FILES))
    return warn(
        f"{allowed} open files, {'an unknown number' if hard is None else hard} at most",
        f"{LEAST_FILES}, or {RAISED_FILES} at most: then the engine raises it itself",
        why="the engine opens shards, sockets and pipes by the hundred and ends when it cannot",
        fix=f"ulimit -n {LEAST_FILES} in the shell that starts moet-boot",
    )


@check("HOST.MEMLOCK", "the memory guard can stay in memory", scope=UNIFIED)
def memlock(case: Case) -> Answer:
    """The guard locks its pages; a container without root's capabilities may lock 8 MiB by default."""
    limits = case.snapshot.limits
    if limits is None and case.sight is Sight.LIVE:
        return unseen(case, "limits")
    if limits is None or limits.ipc_lock is None:
        return skip("whether memory may be locked was not looked at")
    allowed = limits.memlock_bytes
    if limits.ipc_lock or allowed is None or allowed >= GUARD_BYTES:
        return passed("no limit" if limits.ipc_lock or allowed is None else format_bytes(allowed))
    return warn(
        f"{format_bytes(allowed)} of memory may be locked",
        format_bytes(GUARD_BYTES),
        why="the guard cannot lock its own pages, and would read them back from disk just when memory runs out",
        fix="docker run --ulimit memlock=-1 (or --cap-add IPC_LOCK), LimitMEMLOCK=infinity in a systemd unit, or sudo",
        source="mlockall(2)",
    )


@check("HOST.SHM", "room in shared memory", needs=("fs",), scope=GPU)
def shm(case: Case) -> Answer:
    """Room in the /dev/shm that the server will see: a container with its own gets what the profile says."""
    run = case.snapshot.docker.run if case.snapshot.docker else None
    if case.sight is Sight.REPLAYED and run is not None and run.ipc not in {None, "host"}:
        size = run.shm_bytes or DOCKER_SHM_BYTES
        return _shm_room(size, f"{format_bytes(size)} of shared memory in the recorded container (--ipc {run.ipc})")
    container, place = case.plan.container, (case.snapshot.fs or {}).get("shm")
    if container is not None and container.ipc != "host":
        return skip("the container gets a /dev/shm of its own")
    if place is None or place.size_bytes is None:
        return skip("shared memory was not looked at")
    room = max(place.size_bytes - (place.used_bytes or 0), 0)
    return _shm_room(room, f"{format_bytes(room)} free of {format_bytes(place.size_bytes)} in {place.path}")


def _shm_room(room: int, measured: str) -> Answer:
    if room >= LEAST_SHM_BYTES:
        return passed(measured, format_bytes(LEAST_SHM_BYTES))
    return warn(
        measured,
        format_bytes(LEAST_SHM_BYTES),
        why="the engine's processes exchange tensors there, and a write beyond its end kills them (bus error)",
        fix="give the container --ipc host or --shm-size 64g; on the host unlink segments of dead servers, or enlarge"
        " it: mount -o remount,size=50% /dev/shm",
        source="vLLM documentation, deployment with Docker",
    )


@check("HOST.WSL", "native Linux", needs=("os",))
def wsl(case: Case) -> Answer:
    """WSL2 takes GPU memory where nothing shows it."""
    rule = case.profile.hardware.wsl
    if case.snapshot.os is None or not case.snapshot.os.wsl:
        return passed("native Linux")
    match rule:
        case "allow":
            return passed("WSL2, which this profile allows")
        case "warn":
            answer = warn
        case "refuse":
            answer = refuse
        case _:
            assert_never(rule)
    return answer(
        f"WSL2 (kernel {case.snapshot.kernel})",
        "native Linux",
        why="under WSL2 about 16 GiB of GPU memory are taken that no query shows (1-2 GiB on native Linux), and pinned"
        f" host memory is limited. {case.profile.hardware.why}",
        fix="boot this machine into native Linux, or use a profile with 16 GiB to spare",
        source=case.profile.hardware.source,
    )


@check("HOST.KILLER", "other out-of-memory killers", needs=("processes", "meminfo"))
def killer(case: Case) -> Answer:
    """A killer in user space that would fire before moet-boot's own guard, or at a level nobody knows."""
    meminfo = case.snapshot.meminfo
    if meminfo is None:
        return unseen(case, "meminfo")
    found = [k for p in case.snapshot.processes or [] if (k := killer_of(p, meminfo)) is not None]
    early = [k for k in found if _fires_first(case, k)]
    if not early:
        names = ", ".join(k.name for k in found)
        return passed(f"{names}, below what a server leaves" if names else "none that would act")
    return warn(
        "; ".join(_words(k) for k in early),
        f"none that acts above the guard's floor of {case.profile.guard.serving_floor_gib:g} GiB",
        why="a userspace killer pulls the trigger first: healthy servers sit at 1.5-8 GiB available, and some were"
        " killed the second they were ready",
        fix="stop it while the server runs (systemctl stop earlyoom), or let it act later, such as earlyoom -m 2",
        source=f"{NOTES}, section 6",
    )


def _fires_first(case: Case, found: Killer) -> bool:
    if found.acts_below_bytes is None:
        return case.forecast.unified
    floor = from_gib(case.profile.guard.serving_floor_gib)
    if case.forecast.unified:
        return found.acts_below_bytes > floor
    left = (available_bytes(case) or 0) - case.forecast.cpu_side_bytes
    return found.acts_below_bytes > max(left, floor)


def _words(found: Killer) -> str:
    if found.acts_below_bytes is None:
        return f"{found.name} runs, at limits that are not known"
    swap = " once swap is used up" if found.after_swap else ""
    return f"{found.name} kills below {format_bytes(found.acts_below_bytes)} available{swap}"


@check("HOST.CLOCK", "the clock is right", needs=("clock",))
def clock(case: Case) -> Answer:
    """A clock that lost its battery fails every certificate."""
    year = case.snapshot.clock.year if case.snapshot.clock else None
    if year is None:
        return skip("the year is not known")
    if year >= LEAST_YEAR:
        return passed(f"year {year}")
    return warn(
        f"year {year}",
        f"{LEAST_YEAR} or later",
        why="downloads and TLS fail, and receipts get the wrong date",
        fix="set the clock: timedatectl set-ntp true",
    )


CHECKS: tuple[Check, ...] = (arch, kernel, limits, memlock, shm, wsl, killer, clock)
