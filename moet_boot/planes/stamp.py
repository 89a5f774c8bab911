"""Remembers that a plane file was verified in full, so that a preflight need not read 72 GiB again.

A stamp holds while size, times, inode, device and the bytes before the slots (header and table) are the same.
"""

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.places import made, state_dir
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.file_state import FileState

MAX_HEAD_BYTES = 64 << 20


@dataclass(frozen=True)
class Stamp:
    """One full verification. `verified_at` is in seconds since the epoch."""

    path: str
    file: FileState
    head_bytes: int
    head_sha256: str
    verified_at: int


def write_stamp(path: Path, head_bytes: int, verified: FileState) -> bool:
    """Record that a file was verified in full in this state; its slots begin at `head_bytes`.

    False when the file has changed since. Raises MoetBootError when the state folder cannot be written.
    """
    place = _stamp_path(path)
    temporary = made(place.parent) / f".{place.name}.{os.getpid()}"
    try:
        stamp = _describe(path, head_bytes, verified_at=int(time.time()))
        temporary.write_text(json.dumps(asdict(stamp)))
        if stamp.file == verified:
            temporary.rename(place)
    except OSError as error:
        raise MoetBootError(
            f"the stamp of {path} cannot be written: {error.strerror}", fix=f"check {place.parent}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return stamp.file == verified


def valid_stamp(path: Path) -> Stamp | None:
    """The stamp of a file that is unchanged since its full verification; None without one."""
    try:
        values = json.loads(_stamp_path(path).read_bytes())
        stored = Stamp(**values | {"file": FileState(**values["file"])})
        same = 0 < stored.head_bytes <= MAX_HEAD_BYTES and _describe(path, stored.head_bytes, stored.verified_at)
    # RuntimeError is how Path.resolve meets a loop of links before Python 3.13
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, MoetBootError):
        return None
    return stored if same == stored else None


def stamp_is_valid(path: Path) -> bool:
    """Whether a full verification of this very file is on record."""
    return valid_stamp(path) is not None


def _describe(path: Path, head_bytes: int, verified_at: int) -> Stamp:
    with DirectReader(path) as reader:
        head = reader.read(AlignedBuffer(head_bytes), 0, head_bytes)
        return Stamp(
            path=str(path.resolve()),
            file=reader.state,
            head_bytes=head_bytes,
            head_sha256=hashlib.sha256(head).hexdigest(),
            verified_at=verified_at,
        )


def _stamp_path(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return state_dir() / "stamps" / f"{name}.json"
