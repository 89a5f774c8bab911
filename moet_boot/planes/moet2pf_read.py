"""What kind of MOET2PF file a path holds, from its first 4096 bytes and its size (planes.md h.4)."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader, unreadable
from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.moet2pf import (
    CHECKSUM_OFFSET,
    HEADER_BYTES,
    MAGIC,
    MIN_FILE_BYTES,
    QUANTIZER_ABI,
    VERSION,
    Fields,
    FileLayout,
    Header,
    TableEntry,
    table_from_bytes,
)

# name of the published file, its size and digest [planes.md h.1]
PUBLISHED_NAME = "ds4-planes.moet2pf"
PUBLISHED_BYTES = FileLayout(DS4_FLASH).file_bytes
PUBLISHED_REPO = "deepseek-ai/DeepSeek-V4-Flash"
PUBLISHED_REVISION = "60d8d70770c6776ff598c94bb586a859a38244f1"
KNOWN_FILES = {"998610cd65bbdad730229492dc2e3da2a1723ef73529fb027e676475c70ead35": PUBLISHED_NAME}

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
# fields that no geometry changes: enough of them tell our own damaged header from a foreign one
_CONSTANTS = (
    "version",
    "header_bytes",
    "align",
    "entry_bytes",
    "table_offset",
    "codebook",
    "level0",
    "level3",
    "plane_layout",
    "scale_block",
    "quantizer_abi",
)
_ENOUGH_CONSTANTS = 8
_REFERENCE = Header(DS4_FLASH, PUBLISHED_REPO, PUBLISHED_REVISION).fields()


class FileFormat(StrEnum):
    """What a file claims to be."""

    OWN = "own"
    OWN_HEADER_DAMAGED = "own-header-damaged"
    FOREIGN = "foreign"
    NOT_MOET2PF = "not-moet2pf"


@dataclass(frozen=True)
class HeaderFacts:
    """What the first block and the size of a file say.

    `geometry` and `revision` are what the header states, or for a foreign header what can be told
    (the published size, a revision spelled out in it); None when unknown. `problems` is empty for a
    file whose header and size are right, and for a foreign one.
    """

    path: Path
    size: int
    format: FileFormat
    header: Header | None = None
    geometry: Geometry | None = None
    revision: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def magic_ok(self) -> bool:
        """Whether the file starts as a MOET2PF file."""
        return self.format is not FileFormat.NOT_MOET2PF

    @property
    def n_slots(self) -> int | None:
        """Slots that the geometry has."""
        return self.geometry.n_slots if self.geometry else None

    @property
    def size_expected(self) -> int | None:
        """Bytes that the file must have, where that is known."""
        return FileLayout(self.geometry).file_bytes if self.geometry else None


def read_header_facts(path: Path) -> HeaderFacts:
    """Read one block of a file and say what it is; reads nothing else.

    Raises ArtefactMissingError when there is no file, ArtefactDamagedError when it is no readable regular file.
    """
    with DirectReader(path) as reader:
        return header_facts(reader)


def header_facts(reader: DirectReader) -> HeaderFacts:
    """`read_header_facts` of a file that is open."""
    block = read_bytes(reader, 0, min(HEADER_BYTES, reader.size))
    return classify(reader.path, reader.size, block)


def read_bytes(reader: DirectReader, offset: int, size: int) -> bytes:
    """A copy of some bytes of the file; raises ArtefactDamagedError when they cannot be read."""
    try:
        return bytes(reader.read(AlignedBuffer(size + HEADER_BYTES), offset, size))
    except OSError as error:
        raise unreadable(reader.path, error) from error


def read_table(reader: DirectReader, header: Header) -> tuple[list[TableEntry], bool]:
    """The table's entries, and whether its checksum is right; raises ArtefactDamagedError if unreadable."""
    layout = header.layout
    table = read_bytes(reader, layout.table_offset, layout.body_offset - layout.table_offset)
    return table_from_bytes(table, layout.geometry.n_slots), hashlib.sha256(table).digest() == header.table_sha256


def classify(path: Path, size: int, block: bytes) -> HeaderFacts:
    """What a file is, given its size and its first 4096 bytes (fewer if it is shorter)."""
    problem = _not_moet2pf(size, block)
    if problem:
        return HeaderFacts(path, size, FileFormat.NOT_MOET2PF, problems=(problem,))
    fields = Fields.from_block(block)
    intact = hashlib.sha256(block[:CHECKSUM_OFFSET]).digest() == block[CHECKSUM_OFFSET:]
    if not intact and _constants_right(fields) < _ENOUGH_CONSTANTS:
        return _foreign(path, size, block)
    problems = _header_problems(fields, block, intact=intact)
    if problems:
        return _damaged(path, size, fields, problems)
    header = Header.from_fields(fields)
    return HeaderFacts(
        path, size, FileFormat.OWN, header, header.geometry, header.revision, _size_problems(size, header)
    )


def find_revision(block: bytes) -> str | None:
    """A revision spelled out in a header of unknown layout: the one run of 40 lower-case hex digits."""
    found = set(re.findall(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", block))
    return found.pop().decode() if len(found) == 1 else None


def _not_moet2pf(size: int, block: bytes) -> str | None:
    if block.startswith(LFS_POINTER):
        return f"a Git LFS pointer of {size} bytes, not the file itself"
    if size == 0:
        return "an empty file"
    if not block.startswith(MAGIC):
        if not any(block):
            return "it starts with zeros where the MOET2PF header belongs: an unfinished copy or download"
        return f"no MOET2PF file: it starts with {block[: len(MAGIC)]!r}, not with {MAGIC!r}"
    if size < MIN_FILE_BYTES:
        return f"truncated: {size} bytes, fewer than any MOET2PF file has ({MIN_FILE_BYTES})"
    return None


def _constants_right(fields: Fields) -> int:
    return sum(getattr(fields, name) == getattr(_REFERENCE, name) for name in _CONSTANTS)


def _header_problems(fields: Fields, block: bytes, *, intact: bool) -> tuple[str, ...]:
    problems = [] if intact else ["the header's checksum is wrong: the header is damaged"]
    if fields.version != VERSION:
        problems.append(f"the header says version {fields.version}, this moet-boot reads version {VERSION}")
    if fields.quantizer_abi != _REFERENCE.quantizer_abi:
        abi = fields.quantizer_abi.rstrip(b"\0").decode(errors="replace")
        problems.append(f"the header says quantizer {abi!r}, expected {QUANTIZER_ABI!r}")
    try:
        header = Header.from_fields(fields)
    except UsageError as error:
        return (*problems, f"the header makes no sense: {error.what}")
    stated = zip(Fields._fields, fields, header.fields(), strict=True)
    problems += [
        f"the header says {name} {got}, expected {wanted}"
        for name, got, wanted in stated
        if got != wanted and name != "version"
    ]
    if not problems and block != header.to_bytes():
        problems.append("the header's unused bytes are not zero")
    return tuple(problems)


def _size_problems(size: int, header: Header) -> tuple[str, ...]:
    expected = header.layout.file_bytes
    if size < expected:
        return (f"truncated: the file has {size} bytes, {expected - size} fewer than the header says",)
    if size > expected:
        return (f"too long: the file has {size} bytes, {size - expected} more than the header says",)
    return ()


def _damaged(path: Path, size: int, fields: Fields, problems: tuple[str, ...]) -> HeaderFacts:
    """Our own header with wrong bytes in it: believe its geometry only where the file's size agrees."""
    try:
        geometry = fields.geometry
    except UsageError:
        geometry = None
    if geometry is None or FileLayout(geometry).file_bytes != size:
        geometry = DS4_FLASH if size == PUBLISHED_BYTES else None
    revision = fields.revision.rstrip(b"\0").decode("ascii", errors="replace") or None
    return HeaderFacts(path, size, FileFormat.OWN_HEADER_DAMAGED, None, geometry, revision, problems)


def _foreign(path: Path, size: int, block: bytes) -> HeaderFacts:
    geometry = DS4_FLASH if size == PUBLISHED_BYTES else None
    return HeaderFacts(path, size, FileFormat.FOREIGN, None, geometry, find_revision(block))
