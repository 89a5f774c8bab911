"""Writes a MOET2PF file out of slots that come from another container."""

import hashlib
from contextlib import ExitStack, suppress
from pathlib import Path

from moet_boot.errors import BusyError
from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.direct_write import unwritable
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.moet2pf_write import PlaneFileWriter
from moet_boot.planes.slot_source import BASE_SECTIONS, Sections
from moet_boot.planes.slot_target import already_there


class PlaneFileTarget:
    """One plane file; see SlotTarget. Every slot is written anew, whatever an earlier run left."""

    def __init__(self, out: Path, header: Header, origin: bytes, *, force: bool = False) -> None:
        self._out, self._force = out, force
        self.claim()
        self._writer = PlaneFileWriter(out, header, origin, overwrite=force)
        self._geometry = header.geometry
        self._slot = AlignedBuffer(header.geometry.slot_stride)
        self._stack = ExitStack()
        self._mine = False
        self.needs: tuple[str, ...] = BASE_SECTIONS
        self.bytes_to_write = header.layout.file_bytes

    def claim(self) -> None:
        """See SlotTarget."""
        if self._out.exists() and not (self._force and self._out.is_file()):
            raise already_there(self._out)

    def start(self) -> None:
        """See SlotTarget."""
        try:
            self._stack.enter_context(self._writer)
        except BusyError:  # the partial file is somebody else's
            raise
        except BaseException:
            self._mine = True
            raise
        self._mine = True

    def put(self, layer: int, expert: int, sections: Sections) -> None:
        """See SlotTarget."""
        for section in self._geometry.sections():
            self._slot.view[section.offset : section.offset + section.size] = sections[section.name]
        slot = layer * self._geometry.n_experts + expert
        self._writer.write_slot(slot, self._slot.view[: self._geometry.slot_stride])
        self._writer.record(slot, hashlib.sha256(self._slot.view[: self._geometry.slot_bytes]).digest())

    def seal(self) -> None:
        """See SlotTarget; the writer makes everything durable when it publishes."""

    def publish(self) -> list[Path]:
        """See SlotTarget."""
        try:
            self._writer.finish()
        except OSError as error:
            raise unwritable(self._out, error) from error
        self._stack.close()
        return [self._out]

    def discard(self) -> None:
        """See SlotTarget."""
        if self._mine:
            with suppress(OSError):
                self._writer.partial.unlink(missing_ok=True)
        self._stack.close()
