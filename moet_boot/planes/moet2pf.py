"""The MOET2PF v1 layout of this project: header, table and where the slots lie (planes.md h.3).

Pure: bytes to facts and back. Opening and classifying files is `moet2pf_read`, writing is `moet2pf_write`.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import NamedTuple, Self

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import ALIGN, SCALE_BLOCK, Geometry, align_up
from moet_boot.planes.utf8 import is_utf8

MAGIC = b"MOET2PF1"
VERSION = 1
HEADER_BYTES = 4096
ENTRY_BYTES = 48
CODEBOOK_TSYM4 = 1
LEVELS = (-4, -1, 1, 4)
LAYOUT_FRAGMENT_MAJOR = 1
QUANTIZER_ABI = "tsym4-e8m0-fragmajor-a32-v2"
DIGEST_BYTES = 32
CHECKSUM_OFFSET = HEADER_BYTES - DIGEST_BYTES
MIN_FILE_BYTES = 2 * ALIGN
MAX_REPO_BYTES = 127
MAX_REVISION_BYTES = 64

_FIELDS = struct.Struct("<8s6IQ2I11QI4bII32s32s8s128s64s64s")
_ENTRY = struct.Struct("<32sQII")


class Fields(NamedTuple):
    """The header's fields as they are stored, in file order."""

    magic: bytes
    version: int
    header_bytes: int
    align: int
    entry_bytes: int
    n_layers: int
    n_experts: int
    n_slots: int
    hidden: int
    inter: int
    codes13_bytes: int
    sc13_bytes: int
    codes2_bytes: int
    sc2_bytes: int
    slot_bytes: int
    slot_stride: int
    table_offset: int
    table_bytes: int
    body_offset: int
    body_bytes: int
    file_bytes: int
    codebook: int
    level0: int
    level1: int
    level2: int
    level3: int
    plane_layout: int
    scale_block: int
    table_sha256: bytes
    index_sha256: bytes
    reserved: bytes
    repo: bytes
    revision: bytes
    quantizer_abi: bytes

    @classmethod
    def from_block(cls, block: bytes) -> Self:
        """Split the first bytes of a file into fields, whatever they say."""
        return cls(*_FIELDS.unpack_from(block))

    @property
    def geometry(self) -> Geometry:
        """The geometry that the fields name; raises UsageError for one that cannot exist."""
        return Geometry(self.n_layers, self.n_experts, self.hidden, self.inter)


@dataclass(frozen=True)
class FileLayout:
    """Where table and slots lie in a file of this geometry; offsets and sizes in bytes."""

    geometry: Geometry

    @property
    def table_offset(self) -> int:
        return HEADER_BYTES

    @property
    def table_bytes(self) -> int:
        """Bytes of all entries, without padding."""
        return ENTRY_BYTES * self.geometry.n_slots

    @property
    def body_offset(self) -> int:
        return align_up(self.table_offset + self.table_bytes)

    @property
    def body_bytes(self) -> int:
        return self.geometry.n_slots * self.geometry.slot_stride

    @property
    def file_bytes(self) -> int:
        return self.body_offset + self.body_bytes

    def slot_offset(self, slot: int) -> int:
        """Where slot `layer * n_experts + expert` begins."""
        return self.body_offset + slot * self.geometry.slot_stride


@dataclass(frozen=True)
class Header:
    """What a header says beyond what follows from the geometry.

    `index_sha256` is the digest of the checkpoint's model.safetensors.index.json, zeros if unknown.
    Raises UsageError for a repo or revision that does not fit.
    """

    geometry: Geometry
    repo: str
    revision: str
    table_sha256: bytes = bytes(DIGEST_BYTES)
    index_sha256: bytes = bytes(DIGEST_BYTES)
    quantizer_abi: str = QUANTIZER_ABI

    def __post_init__(self) -> None:
        stored = self.repo if is_utf8(self.repo) else ""
        if not stored or len(stored.encode()) > MAX_REPO_BYTES or "\0" in stored:
            raise UsageError(f"repo {self.repo!r} does not fit a header: 1 to {MAX_REPO_BYTES} bytes of text")
        if not self.revision.isalnum() or not self.revision.isascii() or len(self.revision) > MAX_REVISION_BYTES:
            raise UsageError(
                f"revision {self.revision!r} does not fit a header: 1 to {MAX_REVISION_BYTES} ASCII letters or digits"
            )

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The header that these fields belong to; raises UsageError when no header can hold them."""
        try:
            texts = [field.rstrip(b"\0").decode() for field in (fields.repo, fields.revision, fields.quantizer_abi)]
        except UnicodeDecodeError as error:
            raise UsageError("repo, revision or quantizer ABI is not text") from error
        return cls(fields.geometry, texts[0], texts[1], fields.table_sha256, fields.index_sha256, texts[2])

    @property
    def layout(self) -> FileLayout:
        return FileLayout(self.geometry)

    def to_bytes(self) -> bytes:
        """The header block of 4096 bytes, checksum included."""
        block = bytearray(HEADER_BYTES)
        _FIELDS.pack_into(block, 0, *self.fields())
        block[CHECKSUM_OFFSET:] = hashlib.sha256(block[:CHECKSUM_OFFSET]).digest()
        return bytes(block)

    def fields(self) -> Fields:
        """The fields as stored."""
        geometry, layout = self.geometry, self.layout
        return Fields(
            MAGIC,
            VERSION,
            HEADER_BYTES,
            ALIGN,
            ENTRY_BYTES,
            geometry.n_layers,
            geometry.n_experts,
            geometry.n_slots,
            geometry.hidden,
            geometry.inter,
            geometry.codes13_bytes,
            geometry.sc13_bytes,
            geometry.codes2_bytes,
            geometry.sc2_bytes,
            geometry.slot_bytes,
            geometry.slot_stride,
            layout.table_offset,
            layout.table_bytes,
            layout.body_offset,
            layout.body_bytes,
            layout.file_bytes,
            CODEBOOK_TSYM4,
            *LEVELS,
            LAYOUT_FRAGMENT_MAJOR,
            SCALE_BLOCK,
            self.table_sha256,
            self.index_sha256,
            bytes(8),
            _padded(self.repo.encode(), 128),
            _padded(self.revision.encode(), 64),
            _padded(self.quantizer_abi.encode(), 64),
        )


class TableEntry(NamedTuple):
    """One slot's digest and place."""

    sha256: bytes
    offset: int
    layer: int
    expert: int

    def to_bytes(self) -> bytes:
        """The 48 bytes of the entry."""
        return _ENTRY.pack(*self)


def table_to_bytes(layout: FileLayout, digests: list[bytes]) -> bytes:
    """The table of all slots in their order, padded to the body's start."""
    experts = layout.geometry.n_experts
    table = b"".join(
        TableEntry(digest, layout.slot_offset(slot), *divmod(slot, experts)).to_bytes()
        for slot, digest in enumerate(digests)
    )
    return _padded(table, layout.body_offset - layout.table_offset)


def table_from_bytes(table: bytes, n_slots: int) -> list[TableEntry]:
    """The entries of a table that was read, whatever they say."""
    return [TableEntry(*entry) for entry in _ENTRY.iter_unpack(table[: n_slots * ENTRY_BYTES])]


def table_problems(layout: FileLayout, entries: list[TableEntry]) -> dict[int, str]:
    """Slots whose entry cannot be trusted, with what is wrong; empty for a sound table."""
    found = ((slot, _entry_problem(layout, slot, entries)) for slot in range(len(entries)))
    return {slot: problem for slot, problem in found if problem}


def _entry_problem(layout: FileLayout, slot: int, entries: list[TableEntry]) -> str | None:
    entry, expected = entries[slot], layout.slot_offset(slot)
    if (entry.layer, entry.expert) != divmod(slot, layout.geometry.n_experts):
        return f"its table entry names layer {entry.layer} expert {entry.expert}"
    if entry.offset == expected:
        return None
    if entry.offset % ALIGN:
        return f"its offset {entry.offset} in the table is not a multiple of {ALIGN}"
    if not layout.body_offset <= entry.offset <= layout.file_bytes - layout.geometry.slot_bytes:
        return f"its offset {entry.offset} in the table lies outside the body"
    if _overlaps(layout, slot, entries):
        return f"its offset {entry.offset} in the table overlaps another slot"
    return f"its offset {entry.offset} in the table is not its place, {expected}"


def _overlaps(layout: FileLayout, slot: int, entries: list[TableEntry]) -> bool:
    """Whether the slot's bytes reach into a place that another slot rightly holds."""
    start = entries[slot].offset - layout.body_offset
    first, last = (
        position // layout.geometry.slot_stride for position in (start, start + layout.geometry.slot_bytes - 1)
    )
    return any(other != slot and entries[other].offset == layout.slot_offset(other) for other in range(first, last + 1))


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(size - len(data))
