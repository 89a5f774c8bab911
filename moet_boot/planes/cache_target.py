"""Writes one rank's folder of a planes cache: everything in a temporary folder, then one rename."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from moet_boot.planes.append_file import AppendFile
from moet_boot.planes.direct_write import sync_folder, unwritable
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.planes_cache import META_NAME, CacheIdentity, part_name, part_sections, part_sizes
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.slot_source import Sections
from moet_boot.planes.slot_target import TEMPORARY, already_there, write_small


class CacheTarget:
    """A planes cache of one rank below a cache's root; see SlotTarget."""

    def __init__(
        self,
        root: Path,
        identity: CacheIdentity,
        geometry: Geometry,
        layers: tuple[int, ...],
        *,
        server: ServerVersion,
        fp4: bool,
        force: bool = False,
    ) -> None:
        self._root, self._identity, self._server, self._force = root, identity, server, force
        self._folder = root / identity.folder(server)
        self._temporary = root / f"{self._folder.name}{TEMPORARY}"
        self._old = root / f"{self._folder.name}{TEMPORARY}-old"
        self._parts = part_sections(fp4=fp4, split=identity.split)
        self._files: dict[str, AppendFile] = {}
        self._layer = -1
        self.needs = tuple(self._parts.values())
        sizes = part_sizes(geometry, fp4=fp4, split=identity.split)
        self.bytes_to_write = len(layers) * sum(sizes.values())

    def claim(self) -> None:
        """See SlotTarget."""
        self._restore()
        if self._folder.exists() and not (self._force and self._folder.is_dir()):
            raise already_there(self._folder)

    def start(self) -> None:
        """See SlotTarget."""
        try:
            if self._temporary.exists():
                shutil.rmtree(self._temporary)
            self._temporary.mkdir()
        except OSError as error:
            raise unwritable(self._temporary, error) from error

    def put(self, layer: int, expert: int, sections: Sections) -> None:
        """See SlotTarget."""
        del expert
        if layer != self._layer:
            self._finish_layer()
            self._layer = layer
            for part in self._parts:
                self._files[part] = AppendFile(self._temporary / part_name(layer, part))
        for part, name in self._parts.items():
            self._files[part].append(sections[name])

    def seal(self) -> None:
        """See SlotTarget."""
        self._finish_layer()
        write_small(self._temporary / META_NAME, self._identity.meta_text(self._server))
        self._sync([self._temporary])

    def publish(self) -> list[Path]:
        """See SlotTarget."""
        self.claim()
        shutil.rmtree(self._old, ignore_errors=True)
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            if self._folder.exists():
                self._folder.rename(self._old)
            self._temporary.rename(self._folder)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        above = [folder for folder in self._folder.parents if folder.is_relative_to(self._root)]
        self._sync(above)
        shutil.rmtree(self._old, ignore_errors=True)
        return [self._folder]

    def discard(self) -> None:
        """See SlotTarget."""
        while self._files:
            self._files.popitem()[1].abandon()
        self._restore()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _restore(self) -> None:
        """Give the old cache its name back when a replacement stopped between two renames."""
        if self._old.exists() and not self._folder.exists():
            self._old.rename(self._folder)

    def _finish_layer(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _sync(self, folders: Iterable[Path]) -> None:
        try:
            for folder in folders:
                sync_folder(folder)
        except OSError as error:
            raise unwritable(self._folder, error) from error
