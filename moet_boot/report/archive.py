"""The archive of a report: one folder of plain files, written whole or not at all, never over another file."""

import gzip
import io
import os
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import UsageError

FOLDER = "moet-boot-report"


@dataclass(frozen=True)
class Entry:
    """A file of the archive; `what` says in a few words what it is."""

    name: str
    content: bytes
    what: str


def packed(entries: Sequence[Entry], now: float) -> bytes:
    """The archive as bytes: no owner, no path of this machine, `now` as the time of everything."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry in entries:
            info = tarfile.TarInfo(f"{FOLDER}/{entry.name}")
            info.size, info.mtime, info.mode = len(entry.content), int(now), 0o644
            tar.addfile(info, io.BytesIO(entry.content))
    return gzip.compress(plain.getvalue(), mtime=int(now))


def require_new(path: Path) -> Path:
    """The absolute path of a file that can be made. Raises UsageError when it exists or its folder does not."""
    target = path.absolute()
    if os.path.lexists(target):
        raise UsageError(f"{target} exists and is not overwritten", fix="name another file with -o, or remove it")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent} is no folder", fix="name a file in a folder that exists with -o")
    return target


def write_new(target: Path, content: bytes) -> None:
    """Write a file that does not exist yet, for its owner only. Raises UsageError when that cannot be."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=".moet-boot-report.", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _appear(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}",
            fix="name a file in a folder that you may write with -o",
        ) from error


def _appear(temporary: Path, target: Path) -> None:
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # a filesystem without hard links, such as that of a USB stick
        temporary.replace(require_new(target))
