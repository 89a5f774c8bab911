"""Reads planes out of a MOET2PF file, each slot checked against the file's own digests."""

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.discovery import TableMode, anchor_slots, discover
from moet_boot.planes.geometry import ALIGN, Geometry, SlotKind
from moet_boot.planes.moet2pf import MIN_FILE_BYTES, Header, table_problems
from moet_boot.planes.moet2pf_read import FileFormat, HeaderFacts, header_facts, read_bytes, read_table
from moet_boot.planes.slot_source import BASE_SECTIONS, Origin, Sections, cut

Judge = Callable[[int, bytes], bool]
"""Whether a slot may have this digest."""

_FIX = "run `moet-boot planes verify` on it, then fetch or build it again"
MAX_REGION_BYTES = 64 << 20


class PlaneFileSource:
    """A whole plane file: one rank, every layer, the 2-bit sections only.

    A foreign header states no geometry: it comes from the published size or from the checkpoint.
    Raises UsageError without one, ArtefactDamagedError for a file that contradicts itself.
    """

    def __init__(self, path: Path, hint: Geometry | None) -> None:
        self.path = path
        self._reader = DirectReader(path)
        try:
            facts = header_facts(self._reader)
            self.geometry = _geometry(facts, hint)
            self._start = self._reader.size - self.geometry.n_slots * self.geometry.slot_stride
            self._buffer = AlignedBuffer(self.geometry.slot_stride)
            self._judge = self._own_judge(facts.header) if facts.header else self._foreign_judge()
        except BaseException:
            self._reader.close()
            raise
        self.exact, self.world, self.rank = True, 1, 0
        self.layers = tuple(range(self.geometry.n_layers))
        self.sections: tuple[str, ...] = BASE_SECTIONS
        self.origin = _origin(facts)

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        slot = layer * self.geometry.n_experts + expert
        view = self._read(slot)
        if not self._judge(slot, hashlib.sha256(view).digest()):
            raise ArtefactDamagedError(
                f"{self.path}: layer {layer} expert {expert} is damaged: its sha256 is not the one in the file's table",
                fix=_FIX,
            )
        return cut(view, self.geometry, SlotKind.BASE, wanted)

    def close(self) -> None:
        """See SlotSource."""
        self._reader.close()

    def _read(self, slot: int) -> memoryview:
        try:
            offset = self._start + slot * self.geometry.slot_stride
            return self._reader.read(self._buffer, offset, self.geometry.slot_bytes)
        except OSError as error:
            layer, expert = divmod(slot, self.geometry.n_experts)
            raise ArtefactDamagedError(
                f"{self.path}: layer {layer} expert {expert} cannot be read: {error.strerror or error}", fix=_FIX
            ) from error

    def _own_judge(self, header: Header) -> Judge:
        entries, sound = read_table(self._reader, header)
        if not sound or table_problems(header.layout, entries):
            raise ArtefactDamagedError(f"{self.path}: its table of digests is damaged", fix=_FIX)
        return lambda slot, digest: entries[slot].sha256 == digest

    def _foreign_judge(self) -> Judge:
        if not MIN_FILE_BYTES <= self._start <= MAX_REGION_BYTES or self._start % ALIGN:
            raise ArtefactDamagedError(
                f"{self.path} has {self._reader.size} bytes, which does not fit {self.geometry}", fix=_FIX
            )
        region = read_bytes(self._reader, 0, self._start)
        count = self.geometry.n_slots
        anchors = {slot: hashlib.sha256(self._read(slot)).digest() for slot in anchor_slots(count)}
        table = discover(region, anchors, count)
        if table.mode is TableMode.NONE:
            raise ArtefactDamagedError(
                f"{self.path} has a foreign header and no table of digests that its slots could be checked against",
                fix="build the planes from the checkpoint with `moet-boot planes build`",
            )
        return lambda slot, digest: table.holds(region, slot, digest)


def _geometry(facts: HeaderFacts, hint: Geometry | None) -> Geometry:
    if facts.problems or facts.format not in {FileFormat.OWN, FileFormat.FOREIGN}:
        raise ArtefactDamagedError(f"{facts.path}: {'; '.join(facts.problems) or facts.format}", fix=_FIX)
    geometry = facts.geometry or hint
    if geometry is None:
        raise UsageError(
            f"{facts.path} has a foreign header that does not say its geometry, and is not the published file",
            fix="give --checkpoint with the config.json that it was made for",
        )
    return geometry


def _origin(facts: HeaderFacts) -> Origin:
    header = facts.header
    if header is None:
        return Origin(revision=facts.revision)
    return Origin(repo=header.repo, revision=header.revision, index_sha256=header.index_sha256)
