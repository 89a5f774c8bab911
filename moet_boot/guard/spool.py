"""The spool: a ring of samples in a mapped file, so that the last ones survive a kill -9 of everybody.

A store into the mapping needs no system call and no memory; the kernel keeps the page. Layout, little-endian: a
header of 64 bytes (magic, record size u32, capacity u32), then records. A record's number is its first field, 1 for
the first ever written, and is stored last: a torn record has number 0.
"""

import mmap
import os
import struct
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.guard.sample import Action, Sample
from moet_boot.phases import Phase

MAGIC = b"MOETSPL1"
_HEADER = struct.Struct("<8sII")
_HEADER_SIZE = 64
_NUMBER = struct.Struct("<Q")
_BODY = struct.Struct("<dqqqqfBB2x")
_RECORD_SIZE = _NUMBER.size + _BODY.size
CAPACITY = 1 << 16
"""Records of 56 bytes: 3.5 MiB, more than four hours of a boot at 4 Hz."""
_MAX_CAPACITY = 1 << 22
_PHASES = (None, *Phase)
_ACTIONS = tuple(Action)


class SpoolWriter:
    """Writes samples; the file is made in full before the first one. Raises MoetBootError when it cannot be made."""

    def __init__(self, path: Path, capacity: int = CAPACITY) -> None:
        size = _HEADER_SIZE + capacity * _RECORD_SIZE
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(fd, 0, size)  # a full disk must show now, and not as a fault in a store
                self._map = mmap.mmap(fd, size)
            finally:
                os.close(fd)
        except OSError as error:
            raise MoetBootError(
                f"cannot make the guard's spool {path} ({size >> 20} MiB): {error.strerror}",
                fix="free some space, or choose another folder",
            ) from error
        self._capacity = capacity
        self._written = 0
        _HEADER.pack_into(self._map, 0, MAGIC, _RECORD_SIZE, capacity)

    def append(self, sample: Sample, phase: Phase | None = None, action: Action = Action.NOTHING) -> None:
        """Store one sample over the oldest one."""
        at = _HEADER_SIZE + self._written % self._capacity * _RECORD_SIZE
        self._written += 1
        _NUMBER.pack_into(self._map, at, 0)
        _BODY.pack_into(
            self._map,
            at + _NUMBER.size,
            sample.t_s,
            _or_unknown(sample.available),
            _or_unknown(sample.free),
            _or_unknown(sample.swap_used),
            _or_unknown(sample.residual),
            -1.0 if sample.psi_full_avg10 is None else sample.psi_full_avg10,
            _PHASES.index(phase),
            _ACTIONS.index(action),
        )
        _NUMBER.pack_into(self._map, at, self._written)

    def close(self) -> None:
        """Let go of the file; what was written stays."""
        self._map.close()


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
        at = _HEADER_SIZE + slot * _RECORD_SIZE
        (number,) = _NUMBER.unpack_from(body, at)
        if number and (number - 1) % capacity == slot:
            numbered.append((number, _record(body, at + _NUMBER.size)))
    return [record for _, record in sorted(numbered, key=lambda pair: pair[0]) if record]


def _capacity(body: bytes, path: Path) -> int:
    head = _HEADER.unpack_from(body) if len(body) >= _HEADER_SIZE else (b"", 0, 0)
    magic, size, capacity = head
    fits = 0 < capacity <= _MAX_CAPACITY and len(body) >= _HEADER_SIZE + capacity * _RECORD_SIZE
    if magic != MAGIC or size != _RECORD_SIZE or not fits:
        raise ArtefactDamagedError(
            f"{path} is no spool of this version ({len(body)} bytes, begins with {body[:8]!r})",
            fix="name the spool of a boot",
        )
    return int(capacity)


def _record(body: bytes, at: int) -> tuple[Sample, Phase | None, Action] | None:
    t_s, available, free, swap, residual, psi, phase, action = _BODY.unpack_from(body, at)
    if phase >= len(_PHASES) or action >= len(_ACTIONS):
        return None
    known = [None if size < 0 else size for size in (available, free, swap, residual)]
    sample = Sample(t_s, known[0], known[1], known[2], None if psi < 0 else psi, known[3])
    return sample, _PHASES[phase], _ACTIONS[action]
