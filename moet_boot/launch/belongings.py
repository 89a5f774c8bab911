"""What belongs to a running server, on disk: so that the next moet-boot can clear up after one that was killed.

Guard and leash end the server when moet-boot is killed, but its shared memory stays (engine.md section 3), and whoever
kills all three watchers at the same moment leaves engine workers behind, too (section 4).
"""

import json
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from moet_boot.errors import MoetBootError
from moet_boot.machine.supervisor_mark import is_gone, own_mark
from moet_boot.places import made, runtime_dir

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAME = "server-{}.json"


class Belongings(BaseModel):
    """Processes as (pid, start in clock ticks), segments as (path, inode), other files as paths.

    `owner`: the mark of the moet-boot that started it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    boot_id: str
    owner: str
    processes: tuple[tuple[int, int], ...] = ()
    segments: tuple[tuple[str, int], ...] = ()
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class Record:
    """Keeps the belongings of one server on disk while it runs. A disk that takes nothing is no reason to end it."""

    def __init__(self, folder: Path | None = None, *, folders: Iterable[str] = ()) -> None:
        """`folder`: where the record goes. `folders`: temporary ones that were made for the server."""
        self._folders = tuple(folders)
        self.path = (folder or runtime_dir()) / _NAME.format(secrets.token_hex(8))
        self.processes: tuple[tuple[int, int], ...] = ()
        """Of a server that is a process: those of a container are ended with it."""
        self._kept: Belongings | None = None
        self._over = False

    def keep(self, segments: Iterable[tuple[Path, int]], files: Iterable[Path]) -> None:
        """Write down what there is now, if it has changed."""
        now = Belongings(
            boot_id=_boot_id(),
            owner=own_mark(),
            processes=self.processes,
            segments=tuple(sorted((str(path), inode) for path, inode in segments)),
            files=tuple(sorted(map(str, files))),
            folders=self._folders,
        )
        if now == self._kept or self._over:
            return
        temporary = self.path.with_suffix(".tmp")
        with suppress(OSError, MoetBootError):
            made(self.path.parent)
            temporary.write_text(now.model_dump_json(), encoding="utf-8")
            temporary.replace(self.path)
            self._kept = now

    def forget(self) -> None:
        """Nothing of the server is left. A look at its memory that was stuck until now must not bring it back."""
        self._over = True
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Abandoned:
    """The record of a server whose moet-boot is gone."""

    path: Path
    belongings: Belongings


def abandoned(folder: Path | None = None) -> list[Abandoned]:
    """The servers whose moet-boot was killed since the machine started; records that mean nothing now are removed.

    Another container's are left alone: its pids are not ours, and whether it lives cannot be seen from here.
    """
    found = []
    for path in sorted((folder or runtime_dir()).glob(_NAME.format("*"))):
        try:
            belongings = Belongings.model_validate(json.loads(path.read_bytes()))
        except (OSError, ValueError, ValidationError):
            continue
        if belongings.boot_id != _boot_id():
            with suppress(OSError):
                path.unlink()
        elif is_gone(belongings.owner):
            found.append(Abandoned(path, belongings))
    return found


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
