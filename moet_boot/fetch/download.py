"""One file of the hub into an unfinished file beside its place, going on where an earlier try ended."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError
from moet_boot.fetch.hub import Answer, Hub
from moet_boot.fetch.hub_file import HubFile
from moet_boot.fetch.trouble import AGAIN, NetworkError
from moet_boot.planes.append_file import AppendFile
from moet_boot.planes.direct_write import writing
from moet_boot.planes.geometry import ALIGN
from moet_boot.units import GIB

RANGE_BYTES = GIB
"""One request: the signed addresses of a hub's storage expire, and some caches refuse very large answers."""
WAITS_S = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Pauses between tries that bring nothing; a byte that arrives starts them anew."""


@dataclass(frozen=True)
class Download:
    """How the files of one commit are brought. `tick` hears of all bytes and may raise to stop, `sleep` takes s."""

    hub: Hub
    repo: str
    commit: str
    tick: Callable[[int], None]
    sleep: Callable[[float], object]
    range_bytes: int = RANGE_BYTES
    waits_s: Sequence[float] = WAITS_S

    def bring(self, file: HubFile, part: Path) -> bool:
        """Complete `part`, past the page cache; returns whether an earlier try had begun it.

        Whatever ends this early, `part` keeps what arrived. Raises NetworkError when nothing comes any more,
        ArtefactDamagedError when the hub sends something of another size, and MoetBootError for the disk.
        """
        kept = kept_bytes(part, file)
        growing = _Growing(part, kept, file, self)
        try:
            self._fill(growing)
        except BaseException:
            growing.out.abandon()
            if kept_bytes(part, file) == 0:
                part.unlink(missing_ok=True)
            raise
        growing.out.close()
        return kept > 0

    def _fill(self, growing: "_Growing") -> None:
        idle = 0
        while growing.reached < growing.file.size:
            before = growing.reached
            try:
                self._request(growing)
            except NetworkError:
                idle = 1 if growing.reached > before else idle + 1
                if idle > len(self.waits_s):
                    raise
                self.sleep(self.waits_s[idle - 1])
                self.tick(0)

    def _request(self, growing: "_Growing") -> None:
        file, start = growing.file, growing.reached
        stop = min(start + self.range_bytes, file.size)
        with self.hub.stream(self.repo, self.commit, file.path, start, stop) as answer:
            growing.begin(answer)
            before = growing.reached
            for piece in answer.pieces:
                growing.add(piece)
        if growing.reached == before:
            raise NetworkError(f"{file.path} of {self.repo}: the hub's answer is empty")


class _Growing:
    """The unfinished file; `reached` counts what is written or about to be."""

    def __init__(self, part: Path, kept: int, file: HubFile, download: Download) -> None:
        self.file = file
        self.reached = kept
        self._part = part
        self._download = download
        self.out = _cut(part, kept)

    def begin(self, answer: Answer) -> None:
        """Get ready for an answer, which may begin elsewhere than where it was asked to."""
        if answer.size not in {None, self.file.size} or answer.start not in {0, self.reached}:
            raise self._wrong(f"one of {answer.size}, from {answer.start} on")
        if answer.start != self.reached:
            begun = _cut(self._part, 0)
            self.out.abandon()
            self._download.tick(-self.reached)
            self.out, self.reached = begun, 0

    def add(self, piece: bytes) -> None:
        """Take what arrived."""
        if self.reached + len(piece) > self.file.size:
            raise self._wrong("more")
        self.out.append(memoryview(piece))
        self.reached += len(piece)
        self._download.tick(len(piece))

    def _wrong(self, what: str) -> ArtefactDamagedError:
        return ArtefactDamagedError(
            f"{self.file.path} of {self._download.repo}: the hub lists {self.file.size} bytes and sends {what}",
            fix=f"look whether a proxy or mirror answers instead (HTTPS_PROXY, HF_ENDPOINT), then {AGAIN}",
        )


def kept_bytes(part: Path, file: HubFile) -> int:
    """How much of an unfinished file can stay: whole blocks, and nothing of one that is too long."""
    with writing(part):
        size = part.stat().st_size if part.is_file() else 0
    return 0 if size > file.size else size // ALIGN * ALIGN


def _cut(part: Path, kept: int) -> AppendFile:
    """The unfinished file with its first bytes, open for more."""
    with writing(part):
        if part.exists():
            os.truncate(part, kept)
    return AppendFile(part, kept)
