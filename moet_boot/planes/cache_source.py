"""Reads planes out of a planes cache."""

from collections.abc import Collection

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.geometry import ALIGN, DS4_FLASH, Geometry
from moet_boot.planes.planes_cache import (
    SPLIT,
    V1_VERSION,
    CacheFacts,
    missing_parts,
    parse_part_name,
    part_name,
    part_sections,
    part_sizes,
)
from moet_boot.planes.server_version import QUANTIZER_ABI, ServerVersion
from moet_boot.planes.slot_source import Origin, Sections
from moet_boot.planes.store_scan import CacheFolder

_FIX = "make or download the cache again"


class CacheSource:
    """One rank's folder as a source. Files of one layer are open at a time."""

    def __init__(self, cache: CacheFolder, geometry: Geometry) -> None:
        self.path = cache.path
        self.geometry, self.exact = geometry, True
        self.world, self.rank = cache.world, cache.rank
        split, facts = cache.meta.get("fp4_split") == SPLIT, cache_facts(cache)
        fp4 = fp4_is_whole(facts, geometry, split=split)
        self._part_of = {section: part for part, section in part_sections(fp4=fp4, split=split).items()}
        self.sections = tuple(self._part_of)
        sizes = part_sizes(geometry, fp4=fp4, split=split)
        self.layers = tuple(layer for layer in range(geometry.n_layers) if not missing_parts(facts, layer, sizes))
        self.origin = Origin(cache.server, ckpt_id=cache.meta.get("ckpt_id"), zero_mode=cache.meta.get("zero_mode"))
        self._buffers = {name: AlignedBuffer(geometry.section_bytes(name) + 2 * ALIGN) for name in self.sections}
        self._readers: dict[str, DirectReader] = {}
        self._layer = -1

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        if layer != self._layer:
            self.close()
            self._layer = layer
        return {name: self._section(layer, expert, name) for name in wanted}

    def close(self) -> None:
        """See SlotSource."""
        while self._readers:
            self._readers.popitem()[1].close()

    def _section(self, layer: int, expert: int, name: str) -> memoryview:
        path = self.path / part_name(layer, self._part_of[name])
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = DirectReader(path)
        size = self.geometry.section_bytes(name)
        try:
            return reader.read(self._buffers[name], expert * size, size)
        except OSError as error:
            raise ArtefactDamagedError(
                f"{path}: expert {expert} cannot be read: {error.strerror or error}", fix=f"check the disk, then {_FIX}"
            ) from error


def cache_facts(cache: CacheFolder) -> CacheFacts:
    """Sizes of the cache's files; what is no file, a loop of links say, is not there for a server either."""
    parts = (path for path in cache.path.iterdir() if parse_part_name(path.name) and path.is_file())
    return CacheFacts(cache.meta, {path.name: path.stat().st_size for path in parts})


def fp4_is_whole(facts: CacheFacts, geometry: Geometry, *, split: bool) -> bool:
    """Whether every layer with planes also has its FP4 parts."""
    planes = part_sizes(geometry, fp4=False)
    both = part_sizes(geometry, fp4=True, split=split)
    present = [layer for layer in range(geometry.n_layers) if not missing_parts(facts, layer, planes)]
    return bool(present) and not any(missing_parts(facts, layer, both) for layer in present)


def require_meta(cache: CacheFolder) -> None:
    """Raise ArtefactDamagedError when meta.json does not say that these are planes of this format."""
    meta = cache.meta
    if not isinstance(meta.value, dict):
        what = meta.detail or meta.state.value
        raise ArtefactDamagedError(f"{cache.path}/meta.json cannot be used: {what}", fix=_FIX)
    wanted: object = V1_VERSION if cache.server is ServerVersion.V1 else 2
    abi = QUANTIZER_ABI if cache.server is ServerVersion.V2 else None
    if meta.get("version") != wanted or meta.get("quantizer_abi") != abi:
        raise ArtefactDamagedError(
            f"{cache.path}/meta.json says version {meta.get('version')!r}, expected {wanted!r}", fix=_FIX
        )


def cache_geometry(cache: CacheFolder, hint: Geometry | None) -> Geometry:
    """The geometry of a cache, which its files do not state: the checkpoint's, or DS4-Flash where it fits.

    Raises UsageError when no known geometry fits the files.
    """
    facts = cache_facts(cache)
    for known in (hint, DS4_FLASH):
        if known is None or known.inter % cache.world:
            continue
        geometry = known.with_tp(cache.world)
        if _some_layer_fits(facts, geometry):
            return geometry
    whose = "the checkpoint's geometry" if hint else "DS4-Flash's geometry"
    raise UsageError(
        f"the files in {cache.path} do not fit {whose}, and a planes cache does not state its own",
        fix="give --checkpoint with the config.json that this cache was made for",
    )


def _some_layer_fits(facts: CacheFacts, geometry: Geometry) -> bool:
    sizes = part_sizes(geometry, fp4=False)
    return any(not missing_parts(facts, layer, sizes) for layer in range(geometry.n_layers))
