"""Writes a MOET2PF file so that its name stands for a whole file or for nothing (planes.md h.3).

Slots go into `.NAME.partial` in any order; the table in it doubles as the journal of what is done, so a
killed build goes on where it stopped. Table, then header, then fsync, then rename.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from moet_boot.errors import ArtefactMissingError, BusyError, UsageError
from moet_boot.planes.direct_write import DirectWriter, require_space, sync_folder, writing
from moet_boot.planes.moet2pf import (
    ENTRY_BYTES,
    HEADER_BYTES,
    Header,
    TableEntry,
    table_from_bytes,
    table_problems,
    table_to_bytes,
)

PARTIAL_MAGIC = b"MOETPART"
_NO_DIGEST = bytes(32)


class PlaneFileWriter:
    """One MOET2PF file in the making; a context manager that holds the lock of its output.

    `header` needs no table digest. `origin` names the input: a partial file is continued only when it was
    made from the same header and origin. Raises BusyError when somebody else writes the same output,
    UsageError when it exists and `overwrite` is false, MoetBootError when the disk is full or refuses.
    """

    def __init__(self, out: Path, header: Header, origin: bytes, *, overwrite: bool = False) -> None:
        with writing(out):
            _require_place(out, overwrite=overwrite)
        self.out = out
        self.partial = out.with_name(f".{out.name}.partial")
        self.header = header
        self.layout = header.layout
        self.overwrite = overwrite
        self._mark = PARTIAL_MAGIC + hashlib.sha256(header.to_bytes() + origin).digest()
        self._lock = FileLock(out.with_name(f".{out.name}.lock"), blocking=False)
        self._digests: dict[int, bytes] = {}
        self.journal: dict[int, bytes] = {}
        """Digests of the slots that an earlier run recorded; they are to be checked before they count."""

    def __enter__(self) -> Self:
        with writing(self.out), ExitStack() as undo:
            self._acquire()
            undo.callback(self._release)
            self.journal = self._read_journal()
            self._reserve()
            self._writer = DirectWriter(self.partial)
            undo.callback(self._writer.close)
            self._plain = os.open(self.partial, os.O_RDWR | os.O_CLOEXEC)
            undo.callback(os.close, self._plain)
            self._start()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._digests and not self.journal:
            self.partial.unlink(missing_ok=True)
        self._undo.close()

    def write_slot(self, slot: int, padded: memoryview) -> None:
        """Put a slot (page-aligned, padded with zeros to the stride) in its place; for any thread."""
        self._writer.write(padded, self.layout.slot_offset(slot))

    def record(self, slot: int, digest: bytes) -> None:
        """Note that a slot is in place with this sha256 (without padding); for one thread."""
        self._digests[slot] = digest
        entry = TableEntry(digest, self.layout.slot_offset(slot), *divmod(slot, self.layout.geometry.n_experts))
        with writing(self.partial):
            self._put(entry.to_bytes(), self.layout.table_offset + slot * ENTRY_BYTES)

    def finish(self, check: Callable[[Path, Header, list[bytes]], None] | None = None) -> Header:
        """Write the table, call `check` with the partial file, its header and digests, then give it its name.

        Until `check` is through, a killed run can go on from here.
        """
        digests = [self._digests[slot] for slot in range(self.layout.geometry.n_slots)]
        table = table_to_bytes(self.layout, digests)
        header = replace(self.header, table_sha256=hashlib.sha256(table).digest())
        with writing(self.partial):
            self._put(table, self.layout.table_offset)
            os.fsync(self._plain)
        if check is not None:
            check(self.partial, header, digests)
        with writing(self.out):
            self._put(header.to_bytes(), 0)
            os.fsync(self._plain)
            os.posix_fadvise(self._plain, 0, self.layout.body_offset, os.POSIX_FADV_DONTNEED)
            _require_place(self.out, overwrite=self.overwrite)
            self.partial.rename(self.out)
            sync_folder(self.out.parent)
        return header

    def _acquire(self) -> None:
        # filelock takes a folder that cannot be written for a lock that is held
        Path(self._lock.lock_file).touch()
        try:
            self._lock.acquire()
        except Timeout:
            raise BusyError(
                f"{self.out} is being written by another moet-boot",
                fix="wait for it, or choose another output",
            ) from None

    def _release(self) -> None:
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def _read_journal(self) -> dict[int, bytes]:
        """Slots that an earlier run of the same work recorded; empty when there was none."""
        try:
            if self.partial.stat().st_size != self.layout.file_bytes:
                return {}
            with self.partial.open("rb") as file:
                head = file.read(self.layout.body_offset)
        except OSError:
            return {}
        if not head.startswith(self._mark):
            return {}
        entries = table_from_bytes(head[HEADER_BYTES:], self.layout.geometry.n_slots)
        wrong = table_problems(self.layout, entries)
        return {
            slot: entry.sha256 for slot, entry in enumerate(entries) if slot not in wrong and entry.sha256 != _NO_DIGEST
        }

    def _reserve(self) -> None:
        if not self.journal:
            self.partial.unlink(missing_ok=True)
        held = self.partial.stat().st_blocks * 512 if self.journal else 0
        require_space(self.out.parent, self.layout.file_bytes - held, f"writing {self.out.name}")

    def _start(self) -> None:
        if self.journal:
            return
        os.ftruncate(self._plain, self.layout.file_bytes)
        self._put(self._mark, 0)

    def _put(self, data: bytes, offset: int) -> None:
        while data:
            count = os.pwrite(self._plain, data, offset)
            data, offset = data[count:], offset + count


def _require_place(out: Path, *, overwrite: bool) -> None:
    if not out.parent.is_dir():
        raise ArtefactMissingError(f"the folder {out.parent} does not exist", fix="create it, or choose another")
    if out.exists() and not (overwrite and out.is_file()):
        raise UsageError(f"{out} exists already", fix="verify it and keep it, move it away, or give --overwrite")
