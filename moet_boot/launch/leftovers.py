"""What a server leaves behind outside its processes: shared memory segments and rendezvous files.

A killed vLLM leaves `/dev/shm/psm_*` and `sem.mp-*` (unevictable memory without swap), and every boot leaves
`vllm_dist_<hex>` in the temporary directory (engine.md section 3). Only files are touched that were not there
before the start, that the server's own processes were seen to hold or its own log names, and that nobody holds now.
"""

import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from moet_boot.guard.processes import list_pids
from moet_boot.launch.belongings import Record

SHM = Path("/dev/shm")  # noqa: S108  (where the kernel keeps segments)
_SHM_NAME = re.compile(r"psm_|sem\.|torch_|vllm|cuda\.shm")
_RENDEZVOUS = re.compile(rb"distributed_init_method=file://(/\S*/vllm_dist_[0-9a-f]{32})")
_RENDEZVOUS_NAME = re.compile(r"vllm_dist_[0-9a-f]{32}")
_OVERLAP = 512


class Leftovers:
    """Notes what one server holds, and removes it once the server is gone. Make it before the start."""

    def __init__(self, shm: Path = SHM, record: Record | None = None) -> None:
        """`record`: where the next moet-boot finds what this one could not remove."""
        self._shm = shm
        self.record = record
        self._before = {(name, inode) for name, inode in _listing(shm).items()}
        self._held: dict[Path, int] = {}
        self._rendezvous: set[Path] = set()
        self._overlap = b""
        self._looking: threading.Thread | None = None

    def look(self, pids: Iterable[int], wait_s: float = 0.0) -> None:
        """`note_holders`, in a thread of its own and for `wait_s` at most.

        Reading the maps of a process that is stuck in reclaim can block for as long as the process does.
        """
        if self._looking is None or not self._looking.is_alive():
            self._looking = threading.Thread(target=self.note_holders, args=(tuple(pids),), daemon=True)
            self._looking.start()
        self._looking.join(wait_s)

    def note_holders(self, pids: Iterable[int]) -> None:
        """Remember the segments that these processes have mapped or open."""
        held = {inode for pid in pids for inode in _held_by(pid, self._shm)}
        for name, inode in _listing(self._shm).items():
            if inode in held and (name, inode) not in self._before and _SHM_NAME.match(name):
                self._held[self._shm / name] = inode
        if self.record:
            self.record.keep(self._held.items(), self._rendezvous)

    def note_log(self, chunk: bytes) -> None:
        """Remember the rendezvous files that the log names."""
        window = self._overlap + chunk
        self._rendezvous |= {Path(os.fsdecode(found)) for found in _RENDEZVOUS.findall(window)}
        self._overlap = window[-_OVERLAP:]

    def remove(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what is left; returns the removed paths, and the kept ones with the reason."""
        removed, left = remove_segments(dict(self._held), self._shm)
        more, unremoved = remove_rendezvous(self._rendezvous)
        left = (*left, *unremoved)
        if self.record and not left:
            self.record.forget()
        return (*removed, *more), left


def remove_segments(held: Mapping[Path, int], shm: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove segments, given with their inodes, that nobody holds; the removed ones, and the kept with the reason."""
    existing = [p for p, inode in held.items() if p.parent == shm and _SHM_NAME.match(p.name) and _inode(p) == inode]
    busy = {inode for pid in list_pids() for inode in _held_by(pid, shm)} if existing else set()
    removed: list[str] = []
    left: list[str] = []
    for path in existing:
        if held[path] in busy:
            left.append(f"{path} (another process holds it)")
        else:
            _remove(path, removed, left)
    return tuple(removed), tuple(left)


def remove_rendezvous(files: Iterable[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove the rendezvous files of a server; the removed ones, and the kept with the reason."""
    removed: list[str] = []
    left: list[str] = []
    for path in sorted(files):
        if _RENDEZVOUS_NAME.fullmatch(path.name) and _is_our_rendezvous(path):
            _remove(path, removed, left)
    return tuple(removed), tuple(left)


def _held_by(pid: int, shm: Path) -> set[int]:
    """The inodes on this file system that a process has mapped or open.

    Not their names: a semaphore is mapped under a name that it loses before it gets its own (sem_open(3) in glibc).
    """
    found: set[int] = set()
    prefix = os.fsencode(shm) + b"/"
    with suppress(OSError):
        device = shm.stat().st_dev
        found |= _mapped(pid, prefix, device)
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                facts = entry.stat()
                if facts.st_dev == device:
                    found.add(facts.st_ino)
    return found


def _mapped(pid: int, prefix: bytes, device: int) -> set[int]:
    with suppress(OSError), Path(f"/proc/{pid}/maps").open("rb") as lines:
        fields = [line.split(None, 5) for line in lines if prefix in line]
        return {int(inode) for _, _, _, where, inode, _ in fields if _device(where) == device}
    return set()


def _device(where: bytes) -> int:
    major, _, minor = where.partition(b":")
    return os.makedev(int(major, 16), int(minor, 16))


def _listing(folder: Path) -> dict[str, int]:
    try:
        return {entry.name: entry.inode() for entry in os.scandir(folder)}
    except OSError:
        return {}


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None


def _is_our_rendezvous(path: Path) -> bool:
    """A plain file of this user in the temporary directory: a log line alone is no licence to delete."""
    try:
        facts = path.lstat()
    except OSError:
        return False
    at_home = path.parent == Path(tempfile.gettempdir())
    return at_home and stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()


def _remove(path: Path, removed: list[str], left: list[str]) -> None:
    try:
        path.unlink()
        removed.append(str(path))
    except FileNotFoundError:
        pass
    except OSError as error:
        left.append(f"{path} ({error.strerror})")
