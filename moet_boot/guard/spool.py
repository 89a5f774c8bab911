"""The spool: a ring of samples in a file of fixed size, so that the last ones survive a kill -9 of everybody.

Layout, little-endian: a header of 64 bytes (magic, record size u32, capacity u32), then records. A record's number is
its first field, 1 for the first ever written; one that does not fit its place in the ring was torn.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.guard.sample import Action, Sample
from moet_boot.phases import Phase

MAGIC = b"MOETSPL1"
_HEADER = struct.Struct("<8sII")
_HEADER_SIZE = 64
_RECORD = struct.Struct("<QdqqqqfBB2x")
CAPACITY = 1 << 16
"""Records of 56 bytes: 3.5 MiB, more than four hours of a boot at 4 Hz."""
_MAX_CAPACITY = 1 << 22
_PHASES = (None, *Phase)
_ACTIONS = tuple(Action)


class SpoolWriter:
    """Writes samples through `write_at` (os.pwrite, or a pen that nobody waits for).

    The file is made in full before the first one: a full disk must show at once. Raises MoetBootError when it cannot
    be made.
    """

    def __init__(
        self, path: Path, capacity: int = CAPACITY, write_at: Callable[[int, bytes, int], object] = os.pwrite
    ) -> None:
        size = _HEADER_SIZE + capacity * _RECORD.size
        self._write_at = write_at
        self._capacity = capacity
        self._written = 0
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            os.posix_fallocate(self._fd, 0, size)
            os.pwrite(self._fd, _HEADER.pack(MAGIC, _RECORD.size, capacity), 0)
        except OSError as error:
            raise MoetBootError(
                f"cannot make the guard's spool {path} ({size >> 20} MiB): {error.strerror}",
                fix="free some space, or choose another folder",
            ) from error

    def append(self, sample: Sample, phase: Phase | None = None, action: Action = Action.NOTHING) -> None:
        """Store one sample over the oldest one."""
        at = _HEADER_SIZE + self._written % self._capacity * _RECORD.size
        self._written += 1
        record = _RECORD.pack(
            self._written,
            sample.t_s,
            _or_unknown(sample.available),
            _or_unknown(sample.free),
            _or_unknown(sample.swap_used),
            _or_unknown(sample.residual),
            -1.0 if sample.psi_full_avg10 is None else sample.psi_full_avg10,
            _PHASES.index(phase),
            _ACTIONS.index(action),
        )
        self._write_at(self._fd, record, at)

    def close(self) -> None:
        """Let go of the file; what was written stays."""
        os.close(self._fd)


def _or_unknown(size: int | None) -> int:
    return -1 if size is None else size


def read_spool(path: Path) -> list[Sample]:
    """All samples of a spool, oldest first; a torn one is left out. Works while the guard writes.

    Raises ArtefactMissingError or ArtefactDamagedError.
    """
    return [sample for sample, _, _ in read_records(path)]


def read_records(path: Path) -> list[tuple[Sample, Phase | None, Action]]:
    """As `read_spool`, with the phase and the action of each sample."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        raise ArtefactMissingError(f"there is no spool {path}", fix="name the spool of a boot") from None
    except OSError as error:
        raise ArtefactDamagedError(f"cannot read the spool {path}: {error.strerror}") from error
    capacity = _capacity(body, path)
    numbered = []
    for slot in range(capacity):
        number, *figures = _RECORD.unpack_from(body, _HEADER_SIZE + slot * _RECORD.size)
        if number and (number - 1) % capacity == slot:
            numbered.append((number, _record(figures)))
    return [record for _, record in sorted(numbered, key=lambda pair: pair[0]) if record]


def _capacity(body: bytes, path: Path) -> int:
    head = _HEADER.unpack_from(body) if len(body) >= _HEADER_SIZE else (b"", 0, 0)
    magic, size, capacity = head
    fits = 0 < capacity <= _MAX_CAPACITY and len(body) >= _HEADER_SIZE + capacity * _RECORD.size
    if magic != MAGIC or size != _RECORD.size or not fits:
        raise ArtefactDamagedError(
            f"{path} is no spool of this version ({len(body)} bytes, begins with {body[:8]!r})",
            fix="name the spool of a boot",
        )
    return int(capacity)


def _record(figures: list[Any]) -> tuple[Sample, Phase | None, Action] | None:
    t_s, available, free, swap, residual, psi, phase, action = figures
    if phase >= len(_PHASES) or action >= len(_ACTIONS):
        return None
    known = [None if size < 0 else size for size in (available, free, swap, residual)]
    sample = Sample(t_s, known[0], known[1], known[2], None if psi < 0 else psi, known[3])
    return sample, _PHASES[phase], _ACTIONS[action]
