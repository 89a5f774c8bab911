"""The disks under the artefacts: DISK.FREE, DISK.TYPE, DISK.DIRECT."""

from collections.abc import Iterator

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, warn
from moet_boot.checks.scope import PLANE_FILE
from moet_boot.forecast.facts import ROLES, filesystem_of
from moet_boot.machine.snapshot import Filesystem
from moet_boot.profile.model import ArtefactKind
from moet_boot.units import format_bytes, from_gib

LEAST_FREE_BYTES = from_gib(1)
USUAL_FREE_BYTES = from_gib(10)
"""Logs, compile caches, receipts; a core dump of a dying engine took 100 GB (unified-memory.md 6)."""

LARGE_BYTES = from_gib(10)
"""Virtual disks say that they turn, so only what takes long to read makes it worth a word."""

IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "zram", "hugetlbfs"})
LAYERED = frozenset({"overlay", "overlayfs", "aufs", "fuse-overlayfs"})
REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "drvfs", "ceph", "glusterfs", "lustre", "afs", "davfs"}
)
REMOTE_PREFIXES = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.glusterfs", "fuse.ceph")


@check("DISK.FREE", "space to write", needs=("fs",))
def free(case: Case) -> Answer:
    """Free space where logs, caches and core files go."""
    root = (case.snapshot.fs or {}).get("root")
    if root is None or root.free_bytes is None:
        return skip("the root filesystem was not looked at")
    measured = f"{format_bytes(root.free_bytes)} free on {root.path}"
    if root.free_bytes >= USUAL_FREE_BYTES:
        return passed(measured, format_bytes(USUAL_FREE_BYTES))
    answer = refuse if root.free_bytes < LEAST_FREE_BYTES else warn
    return answer(
        measured,
        f"{format_bytes(USUAL_FREE_BYTES)}, {format_bytes(LEAST_FREE_BYTES)} at the very least",
        why="logs, compile caches and the container's own layer are written there; a full disk ends a boot half-way",
        fix="make room: docker system df, journalctl --disk-usage, du -xh / | sort -h | tail",
    )


@check("DISK.TYPE", "artefacts on a real filesystem", needs=("fs",))
def kind(case: Case) -> Answer:
    """Not in memory, not in a container's layer, not across a network."""
    places = list(_places(case))
    if not places:
        return skip("no filesystem of an artefact was looked at")
    worst = min((_judge(case, name, place) for name, place in places), key=_severity, default=None)
    if worst is not None and worst.measured:
        return worst
    return passed(", ".join(f"{name} on {place.fstype}" for name, place in places))


def _severity(answer: Answer) -> int:
    return ["refuse", "warn", "skipped", "pass"].index(answer.status.value)


def _judge(case: Case, name: str, place: Filesystem) -> Answer:
    kind_ = (place.fstype or "").lower()
    if kind_ in IN_MEMORY:
        answer = refuse if case.forecast.unified else warn
        return answer(
            f"{name} at {place.path} is on {place.fstype}",
            "a real filesystem (ext4, xfs, btrfs on NVMe)",
            why="a tmpfs is memory: the file takes its whole size out of the pool that the boot needs, and O_DIRECT"
            " may not work there",
            fix=f"move it to a disk and free the memory, or name the copy on disk: --path {name}=PATH",
            source="field notes on unified memory, sections 1 and 6",
        )
    if kind_ in LAYERED:
        return warn(
            f"{name} at {place.path} is on {place.fstype}",
            "a real filesystem",
            why="files in a container's layer are slow to read and gone with the container",
            fix="mount the artefact from the host",
        )
    if place.rotational and (case.profile.artefacts[name].size_bytes or 0) >= LARGE_BYTES:
        return warn(
            f"{name} at {place.path} is on a turning disk",
            "an SSD",
            why="a boot reads 70 to 150 GiB: at 150 MB/s that takes longer than the phases' deadlines",
            fix="copy it to an NVMe disk",
        )
    if kind_ in REMOTE or kind_.startswith(REMOTE_PREFIXES):
        return warn(
            f"{name} at {place.path} is on {place.fstype}",
            "a local disk",
            why="a boot reads 70 to 150 GiB: over a network that takes long, and a stall hangs the load",
            fix="copy it to a local NVMe disk",
        )
    return passed("")


def _places(case: Case) -> Iterator[tuple[str, Filesystem]]:
    for name, artefact in case.profile.artefacts.items():
        place = filesystem_of(case.snapshot, artefact.kind)
        if place is not None and place.exists and place.fstype:
            yield name, place


@check("DISK.DIRECT", "O_DIRECT on the plane file", needs=("fs",), scope=PLANE_FILE)
def direct(case: Case) -> Answer:
    """A real open and read with O_DIRECT: a buffered read of 72 GiB floods the page cache."""
    place = (case.snapshot.fs or {}).get(ROLES[ArtefactKind.PLANE_FILE])
    if place is None or place.o_direct is None:
        return skip("no file to try O_DIRECT on")
    if place.o_direct:
        return passed(f"O_DIRECT works on {place.path} ({place.fstype})")
    answer = refuse if case.forecast.unified else warn
    return answer(
        f"O_DIRECT does not work on {place.path} ({place.fstype})",
        "O_DIRECT",
        why="the server reads and verifies 72.56 GiB by O_DIRECT; buffered, they would flood the page cache just when"
        " the driver needs the memory",
        fix="move the plane file to a filesystem that has it (ext4, xfs, btrfs)",
        source="DGX Spark plane file, published notes",
    )


CHECKS: tuple[Check, ...] = (free, kind, direct)
