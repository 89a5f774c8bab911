"""Writes one pack: rows first, under a temporary name; the sidecar last, because only it makes rows count."""

import os
from contextlib import suppress
from pathlib import Path

from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.direct_write import DirectWriter, sync_folder, unwritable
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.pack_store import PackIdentity
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.slot_source import Sections
from moet_boot.planes.slot_target import TEMPORARY, already_there, write_small


class PackTarget:
    """A pack of one kind in a store's folder; see SlotTarget."""

    def __init__(
        self,
        store: Path,
        identity: PackIdentity,
        geometry: Geometry,
        layers: tuple[int, ...],
        *,
        server: ServerVersion,
        suffix: str,
        force: bool = False,
    ) -> None:
        self._identity, self._server, self._layers, self._force = identity, server, layers, force
        self._shape = identity.shape
        self._kind = SlotKind(identity.shape.tag)
        self._sections = geometry.sections(self._kind)
        stem = identity.stem(server, suffix)
        self._pack, self._sidecar, self._lock = (store / f"{stem}.{end}" for end in ("pack", "json", "lock"))
        self._temporary = self._pack.with_name(self._pack.name + TEMPORARY)
        self._writer: DirectWriter | None = None
        self._row = AlignedBuffer(self._shape.stride)
        self.needs = tuple(section.name for section in self._sections)
        self.bytes_to_write = len(layers) * self._shape.layer_bytes

    def claim(self) -> None:
        """See SlotTarget."""
        for path in (self._sidecar, self._pack):
            if os.path.lexists(path) and not (self._force and path.is_file()):
                raise already_there(path)

    def start(self) -> None:
        """See SlotTarget."""
        try:
            self._temporary.unlink(missing_ok=True)
            self._writer = DirectWriter(self._temporary)
            os.ftruncate(self._writer.fd, self._shape.file_bytes)
        except OSError as error:
            raise unwritable(self._temporary, error) from error

    def put(self, layer: int, expert: int, sections: Sections) -> None:
        """See SlotTarget."""
        writer = self._open()
        for section in self._sections:
            self._row.view[section.offset : section.offset + section.size] = sections[section.name]
        writer.write(self._row.view[: self._shape.stride], self._shape.offset(layer, expert))

    def seal(self) -> None:
        """See SlotTarget."""
        try:
            os.fsync(self._open().fd)
        except OSError as error:
            raise unwritable(self._temporary, error) from error
        self._close()

    def publish(self) -> list[Path]:
        """See SlotTarget."""
        self.claim()
        try:
            # an old sidecar must never vouch for new rows, not even between two renames
            self._sidecar.unlink(missing_ok=True)
            sync_folder(self._pack.parent)
            self._temporary.replace(self._pack)
            if self._server is ServerVersion.V2:
                self._lock.touch()
            sync_folder(self._pack.parent)
        except OSError as error:
            raise unwritable(self._pack, error) from error
        write_small(self._sidecar, self._identity.sidecar_text(self._server, list(self._layers)))
        sync_folder(self._pack.parent)
        return [self._pack, self._sidecar]

    def discard(self) -> None:
        """See SlotTarget."""
        self._close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _open(self) -> DirectWriter:
        if self._writer is None:
            raise RuntimeError("the pack was not started")
        return self._writer

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
