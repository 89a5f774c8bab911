"""Reads planes out of packs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.geometry import ALIGN, DS4_FLASH, MAX_DIMENSION, Geometry, SlotKind
from moet_boot.planes.pack_gates import legal_layers
from moet_boot.planes.pack_store import SIDECAR_VERSION, PackShape
from moet_boot.planes.slot_source import Origin, Sections, cut, differing_sections
from moet_boot.planes.store_scan import PackFile

MIN_DIMENSION = 64


@dataclass(frozen=True)
class CheckedPack:
    """A pack whose sidecar makes sense and whose file has the size that follows from it."""

    file: PackFile
    kind: SlotKind
    shape: PackShape
    layers: tuple[int, ...]


class PackSource:
    """One or more packs (base, fp4, ...) of the same rank as one source."""

    def __init__(self, packs: list[CheckedPack], geometry: Geometry, *, exact: bool) -> None:
        first = packs[0]
        self.path = first.file.pack_path
        self.geometry, self.exact = geometry, exact
        self.world, self.rank = first.file.world, first.file.rank
        self.layers = tuple(sorted(set.intersection(*(set(pack.layers) for pack in packs))))
        self._home = _homes(packs, geometry)
        self.sections = tuple(self._home)
        sidecar = first.file.sidecar
        self.origin = Origin(first.file.server, ckpt_id=sidecar.get("ckpt_id"), zero_mode=sidecar.get("zero_mode"))
        self._packs = packs
        self._readers = {pack.kind: DirectReader(pack.file.pack_path) for pack in packs}
        self._buffers = {pack.kind: AlignedBuffer(pack.shape.stride + ALIGN) for pack in packs}

    def slot(self, layer: int, expert: int, wanted: Collection[str]) -> Sections:
        """See SlotSource."""
        found: dict[str, memoryview] = {}
        for pack in self._packs:
            if any(self._home[name] is pack.kind for name in wanted):
                mine = cut(self._row(pack, layer, expert), self.geometry, pack.kind, wanted)
                self._require_agreement(pack, found, mine, (layer, expert))
                found = {**mine, **found}
        return found

    def close(self) -> None:
        """See SlotSource."""
        for reader in self._readers.values():
            reader.close()

    def _require_agreement(self, pack: CheckedPack, found: Sections, mine: Sections, slot: tuple[int, int]) -> None:
        """An fp4 slot repeats the base slot's scales, and the server uses either."""
        odd = differing_sections(found, mine, [name for name in mine if name in found])
        if odd:
            layer, expert = slot
            raise ArtefactDamagedError(
                f"{pack.file.pack_path}: layer {layer} expert {expert} has another {', '.join(odd)} than the base pack",
                fix=_FIX,
            )

    def _row(self, pack: CheckedPack, layer: int, expert: int) -> memoryview:
        reader, shape = self._readers[pack.kind], pack.shape
        try:
            return reader.read(self._buffers[pack.kind], shape.offset(layer, expert), shape.slot_bytes)
        except OSError as error:
            raise ArtefactDamagedError(
                f"{reader.path}: layer {layer} expert {expert} cannot be read: {error.strerror or error}",
                fix="check the disk, then make or download the pack again",
            ) from error


def check_pack(file: PackFile) -> CheckedPack:
    """Raise the artefact error that says why a pack cannot be read as what its sidecar says, or return it."""
    name = file.sidecar_path
    if not isinstance(file.sidecar.value, dict):
        what = "does not exist" if not name.exists() else f"is no sidecar ({file.sidecar.detail or 'no JSON object'})"
        raise ArtefactDamagedError(f"{name} {what}, so nothing in the pack counts as present", fix=_FIX)
    sidecar: Mapping[str, Any] = file.sidecar.value
    shape = PackShape(
        str(sidecar.get("tag")),
        _number(name, sidecar, "E", MAX_DIMENSION),
        _number(name, sidecar, "n_layers", MAX_DIMENSION),
        _number(name, sidecar, "slot_bytes", 1 << 40),
    )
    if shape.tag not in set(SlotKind) or sidecar.get("version") != SIDECAR_VERSION[file.server]:
        raise _odd(name, f"has tag {shape.tag!r} and version {sidecar.get('version')!r}")
    if sidecar.get("stride") != shape.stride:
        raise _odd(name, f"has stride {sidecar.get('stride')!r}, expected {shape.stride}")
    layers = sidecar.get("layers")
    if not legal_layers(layers, shape.n_layers):
        raise _odd(name, "has a list of layers with doubles or impossible numbers")
    _check_size(file.pack_path, shape)
    return CheckedPack(file, _slot_kind(shape), shape, tuple(sorted(sidecar["layers"])))


def pack_geometry(packs: list[CheckedPack], hint: Geometry | None) -> tuple[Geometry, bool]:
    """The geometry behind some packs, and whether `hidden` and `inter` are really known (see SlotSource).

    `hint` is what the checkpoint's config says; raises ArtefactDamagedError when the packs contradict it.
    """
    first, world = packs[0], packs[0].file.world
    layers = first.shape.n_layers - 1
    for known in (hint, DS4_FLASH):
        if known is None or known.inter % world:
            continue
        fitting = replace(known.with_tp(world), n_layers=layers)
        if all(_fits(pack, fitting) for pack in packs):
            return fitting, True
    if hint is not None:
        raise _odd(first.file.sidecar_path, f"describes another model than the checkpoint: {first.shape}")
    return _stand_in(first), False


_FIX = "make or download the pack again"


def _slot_kind(shape: PackShape) -> SlotKind:
    return SlotKind(shape.tag)


def _fits(pack: CheckedPack, geometry: Geometry) -> bool:
    return pack.shape.n_experts == geometry.n_experts and pack.shape.slot_bytes == geometry.bytes_of(pack.kind)


def _stand_in(pack: CheckedPack) -> Geometry:
    """Any geometry with these section sizes: they depend on hidden * inter only (a.4)."""
    unit = Geometry(1, 1, MIN_DIMENSION, MIN_DIMENSION).bytes_of(pack.kind)
    times, rest = divmod(pack.shape.slot_bytes, unit)
    if rest or not times or times * MIN_DIMENSION * pack.file.world > MAX_DIMENSION:
        raise _odd(pack.file.sidecar_path, f"has slot_bytes {pack.shape.slot_bytes}, which no geometry gives")
    inter = times * MIN_DIMENSION * pack.file.world
    return Geometry(pack.shape.n_layers - 1, pack.shape.n_experts, MIN_DIMENSION, inter, pack.file.world)


def _homes(packs: list[CheckedPack], geometry: Geometry) -> dict[str, SlotKind]:
    """Which pack gives which section; the base comes first."""
    order = sorted(packs, key=lambda pack: list(SlotKind).index(pack.kind))
    home: dict[str, SlotKind] = {}
    for pack in order:
        for section in geometry.sections(pack.kind):
            home.setdefault(section.name, pack.kind)
    return home


def _check_size(path: Path, shape: PackShape) -> None:
    if not path.exists():
        raise ArtefactMissingError(f"{path} does not exist, and its sidecar says it is written", fix=_FIX)
    size = path.stat().st_size
    if size != shape.file_bytes:
        raise ArtefactDamagedError(f"{path} has {size} bytes, its sidecar says {shape.file_bytes}", fix=_FIX)


def _number(name: Path, sidecar: Mapping[str, Any], key: str, limit: int) -> int:
    value = sidecar.get(key)
    if type(value) is not int or not 1 <= value <= limit:
        raise _odd(name, f"has {key} {value!r}, expected a whole number from 1 to {limit}")
    return value


def _odd(name: Path, what: str) -> ArtefactDamagedError:
    return ArtefactDamagedError(f"{name} {what}", fix=_FIX)
