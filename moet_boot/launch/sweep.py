"""Clearing up after a moet-boot that was killed: what is left of its server, and of nobody else's."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from moet_boot.guard.tree import Tree
from moet_boot.launch.belongings import Abandoned, abandoned
from moet_boot.launch.leftovers import SHM, remove_rendezvous, remove_segments

KILL_S = 5.0
SOCKETS = "moet-ipc-"
"""What the folders of a server's sockets are called."""


def sweep_abandoned(folder: Path | None = None, shm: Path = SHM) -> list[str]:
    """End and remove what servers left behind whose moet-boot was killed; says what was done, in words.

    `folder`: where the records are, else the usual one. What cannot be removed stays on record for the next time.
    """
    return [words for each in abandoned(folder) for words in _sweep(each, shm)]


def _sweep(each: Abandoned, shm: Path) -> list[str]:
    had = each.belongings
    whose = "of a server whose moet-boot was killed"
    ended, alive = end_processes(had.processes)
    words = [f"ended {ended} process(es) {whose}"] if ended else []
    if alive:
        return [*words, f"pids {alive} {whose} do not die (in a driver call?)"]
    removed, left = remove_segments({Path(path): inode for path, inode in had.segments}, shm)
    more, unremoved = remove_rendezvous(Path(path) for path in had.files)
    _remove_folders(Path(path) for path in had.folders)
    if removed or more:
        words.append(f"removed {', '.join((*removed, *more))} {whose}")
    if not left and not unremoved:
        with suppress(OSError):
            each.path.unlink()
    return words


def _remove_folders(folders: Iterable[Path]) -> None:
    """The engine's sockets lie in a folder that is ours by its name, its place and its owner."""
    for path in folders:
        named = path.parent == Path(tempfile.gettempdir()) and path.name.startswith(SOCKETS)
        with suppress(OSError):
            if named and path.lstat().st_uid == os.geteuid():
                shutil.rmtree(path)


def end_processes(
    processes: Iterable[tuple[int, int]],
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, list[int]]:
    """KILL those that still run, and their children; how many there were, and the pids of those that do not die.

    A pid that was given to somebody else since is told by its start time, and left alone.
    """
    tree = Tree()
    known = sum(tree.add_root(pid, start) for pid, start in processes)
    seen = {member.process.pid for member in [*tree.alive(), *tree.refresh()]} if known else set()
    deadline = now() + KILL_S
    while (alive := tree.alive()) and now() < deadline:
        for member in alive:
            member.send(signal.SIGKILL)
        sleep(0.01)
        seen |= {member.process.pid for member in tree.refresh()}
    left = [member.process.pid for member in tree.alive()]
    tree.close()
    return len(seen), left
