"""Small MOET2PF files for tests, and ways to damage them."""

import hashlib
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from moet_boot.planes import moet2pf
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf import CHECKSUM_OFFSET, HEADER_BYTES, Fields, Header, TableEntry
from testing.golden import GOLDEN

TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)
REPO = "golden/tiny-checkpoint"
REVISION = "0123456789abcdef0123456789abcdef01234567"
OWN = GOLDEN / "vii_moet2pf" / "tiny_own.moet2pf"
FOREIGN = {letter: GOLDEN / "vii_moet2pf" / f"tiny_foreign_{letter}.moet2pf" for letter in "abc"}


def copy_of(source: Path, folder: Path) -> Path:
    """Copy a golden file to where it may be damaged."""
    target = folder / "planes.moet2pf"
    shutil.copyfile(source, target)
    return target


def write_plane_file(path: Path, geometry: Geometry, seed: int) -> Header:
    """Write a whole plane file with random slots."""
    random_bytes = random.Random(seed).randbytes  # noqa: S311  (no secret)
    slots = [random_bytes(geometry.slot_bytes) for _ in range(geometry.n_slots)]
    header = Header(geometry, REPO, REVISION)
    table = moet2pf.table_to_bytes(header.layout, [hashlib.sha256(slot).digest() for slot in slots])
    header = replace(header, table_sha256=hashlib.sha256(table).digest())
    padded = (slot.ljust(geometry.slot_stride, b"\0") for slot in slots)
    path.write_bytes(header.to_bytes() + table + b"".join(padded))
    return header


def flip(path: Path, offset: int, bit: int = 0) -> None:
    """Flip one bit of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        old = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([old ^ 1 << bit]))


def put(path: Path, offset: int, data: bytes) -> None:
    """Overwrite some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def set_header(path: Path, *, checksum: bool = True, **changes: Any) -> None:
    """Change header fields of an own file; the header's checksum is made right again unless told otherwise."""
    block = bytearray(path.read_bytes()[:HEADER_BYTES])
    fields = Fields.from_block(bytes(block))._replace(**changes)
    moet2pf._FIELDS.pack_into(block, 0, *fields)  # noqa: SLF001  (the format's own struct)
    if checksum:
        block[CHECKSUM_OFFSET:] = hashlib.sha256(block[:CHECKSUM_OFFSET]).digest()
    put(path, 0, bytes(block))


def set_entry(path: Path, slot: int, change: Callable[[TableEntry], TableEntry]) -> None:
    """Change one table entry of an own file, all checksums made right again."""
    fields = Fields.from_block(path.read_bytes()[:HEADER_BYTES])
    table = path.read_bytes()[fields.table_offset : fields.body_offset]
    entries = moet2pf.table_from_bytes(table, fields.n_slots)
    entries[slot] = change(entries[slot])
    packed = b"".join(entry.to_bytes() for entry in entries).ljust(len(table), b"\0")
    put(path, fields.table_offset, packed)
    set_header(path, table_sha256=hashlib.sha256(packed).digest())
