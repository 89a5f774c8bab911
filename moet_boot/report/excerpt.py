"""The beginning and the end of a log, in whole lines: a cut through a line could hide what makes a secret one."""

import gzip
from pathlib import Path

from moet_boot.units import KIB, MIB

HEAD_BYTES = 256 * KIB
TAIL_BYTES = MIB


def read_excerpt(path: Path, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> str:
    """A small log as it is; of a larger one its first and its last lines. Raises OSError.

    The supervisor cuts long logs into segments `NAME.00001.gz`, ..., and keeps the first, which has the boot.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        segment = path.with_name(f"{path.name}.00001.gz")
        cut = segment.is_file()
        if not cut and size <= head_bytes + tail_bytes:
            file.seek(0)
            return _decoded(file.read())
        file.seek(max(size - tail_bytes, 0))
        tail = file.read().lstrip(b"\0")
        file.seek(0)
        head = _unzipped(segment, head_bytes) if cut else file.read(head_bytes)
    if size > tail_bytes or cut:
        tail = tail[tail.find(b"\n") + 1 :] if b"\n" in tail else b""
    head = head[: head.rfind(b"\n") + 1]
    return f"{_decoded(head)}[... lines are left out here ...]\n{_decoded(tail)}"


def _unzipped(segment: Path, size: int) -> bytes:
    with gzip.open(segment) as file:
        return file.read(size)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")
