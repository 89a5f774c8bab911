"""Reads a finished plane file once more before it gets its name: is it on the disk as it was written."""

import hashlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.direct_io import DirectReader, unreadable
from moet_boot.planes.moet2pf import HEADER_BYTES, Header
from moet_boot.planes.progress import Progress
from moet_boot.planes.whole_file import whole_file_sha256

MAX_NAMES = 8


class ReadBack:
    """One pass over a file: the digest of all of it, to compare with other builds, and that of table and slots."""

    def __init__(self, on_progress: Progress) -> None:
        self.on_progress = on_progress
        self.sha256: str | None = None
        self.seconds = 0.0

    def __call__(self, partial: Path, header: Header, digests: list[bytes]) -> None:
        """Read everything after the header; raises ArtefactDamagedError for what is not as it was written."""
        started = time.monotonic()
        runs = _RunDigests(_runs(header, digests))
        with DirectReader(partial) as reader, ThreadPoolExecutor(1) as beside:

            def also(piece: memoryview) -> Callable[[], None]:
                return beside.submit(runs.feed, piece).result

            try:
                first = header.to_bytes()
                self.sha256 = whole_file_sha256(reader, first=first, on_progress=self.on_progress, also=also)
            except OSError as error:
                raise unreadable(partial, error) from error
        self.seconds = time.monotonic() - started
        wrong = [*runs.wrong]
        if reader.size != header.layout.file_bytes:
            wrong.append(f"{reader.size} bytes of {header.layout.file_bytes}")
        if wrong:
            raise ArtefactDamagedError(
                f"{partial} does not read back as it was written: {_listed(wrong)}",
                fix="check the disk; the same command then builds again what is wrong",
            )


@dataclass(frozen=True)
class _Run:
    """Bytes that follow each other, and their sha256; None for padding."""

    name: str
    size: int
    sha256: bytes | None


class _RunDigests:
    """Hashes runs out of pieces that end anywhere; `wrong` names those that are not as expected."""

    def __init__(self, runs: Iterator[_Run]) -> None:
        self._runs = runs
        self._run = next(runs)
        self._left, self._digest = self._run.size, hashlib.sha256()
        self.wrong: list[str] = []

    def feed(self, piece: memoryview) -> None:
        while piece:
            mine, piece = piece[: self._left], piece[self._left :]
            self._left -= len(mine)
            if self._run.sha256 is not None:
                self._digest.update(mine)
            if not self._left:
                self._finish()

    def _finish(self) -> None:
        if self._run.sha256 not in {None, self._digest.digest()}:
            self.wrong.append(self._run.name)
        self._run = next(self._runs, _Run("", 0, None))
        self._left, self._digest = self._run.size, hashlib.sha256()


def _listed(wrong: list[str]) -> str:
    more = f" and {len(wrong) - MAX_NAMES} more" if len(wrong) > MAX_NAMES else ""
    return f"{', '.join(wrong[:MAX_NAMES])}{more}"


def _runs(header: Header, digests: list[bytes]) -> Iterator[_Run]:
    geometry = header.geometry
    yield _Run("its table", header.layout.body_offset - HEADER_BYTES, header.table_sha256)
    for slot, digest in enumerate(digests):
        yield _Run(f"slot {slot}", geometry.slot_bytes, digest)
        if geometry.slot_stride > geometry.slot_bytes:
            yield _Run("padding", geometry.slot_stride - geometry.slot_bytes, None)
