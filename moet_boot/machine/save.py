"""Write a snapshot to a file: whole, or not at all."""

import os
import tempfile
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.machine.snapshot import Snapshot


def as_json(snapshot: Snapshot) -> str:
    """The snapshot as a JSON document; groups that were not read are null."""
    return snapshot.model_dump_json(by_alias=True, indent=2)


def save_snapshot(snapshot: Snapshot, path: Path | str) -> Path:
    """Write the snapshot to `path` through a temporary file beside it; returns where it really lies.

    An older file is replaced in one step. Raises UsageError when the place cannot take a file.
    """
    target = Path(path)
    try:
        target = target.resolve()
        if target.exists() and not target.is_file():
            raise UsageError(f"{path} exists and is no regular file", fix="name a file to write")
        _replace(target, as_json(snapshot) + "\n")
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise UsageError(f"cannot write {path}: {reason}", fix="name a file in a folder you may write") from None
    return target


def _replace(target: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
