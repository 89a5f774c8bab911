"""Opens whatever artefact a path holds as a source of planes."""

from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.artefacts import Artefact, PlaneFile, single_artefact
from moet_boot.planes.cache_source import CacheSource, cache_geometry, require_meta
from moet_boot.planes.direct_io import unreadable
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.model_config import read_model_config
from moet_boot.planes.pack_source import CheckedPack, PackSource, check_pack, pack_geometry
from moet_boot.planes.plane_file_source import PlaneFileSource
from moet_boot.planes.rank_source import RankSource
from moet_boot.planes.slot_source import SlotSource
from moet_boot.planes.store_scan import CacheFolder, PackFile


def open_part(path: Path, hint: Geometry | None, tp: int | None, rank: int) -> SlotSource:
    """What rank `rank` of `tp` has of the planes at a path; the part that lies there when `tp` is None.

    Raises what `open_source` raises, and UsageError when that part cannot be cut out.
    """
    source = open_source(path, hint)
    if tp is None or (tp, rank) == (source.world, source.rank):
        return source
    try:
        return RankSource(source, tp, rank)
    except UsageError:
        source.close()
        raise


def open_source(path: Path, hint: Geometry | None = None) -> SlotSource:
    """Open the one set of planes at a path.

    `hint` is the model's geometry from a checkpoint's config, for containers that do not state their own.
    Raises the artefact errors, and UsageError for an ambiguous path or a geometry that nobody knows.
    """
    try:
        return _open(single_artefact(path), hint)
    except OSError as error:
        raise unreadable(path, error) from error


def open_checkpoint(folder: Path, *, world: int = 1, rank: int = 0) -> SlotSource:
    """The planes that a checkpoint gives, made on the fly.

    Raises the artefact errors for a checkpoint that is not whole, UsageError without numpy.
    """
    try:
        from moet_boot.planes.checkpoint_source import CheckpointSource  # noqa: PLC0415  (numpy is an extra)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"making planes from a checkpoint needs the package {error.name}", fix="pip install 'moet-boot[planes]'"
        ) from error
    return CheckpointSource(folder, world=world, rank=rank)


def geometry_hint(checkpoint: Path | None) -> Geometry | None:
    """The geometry that a checkpoint's config.json states, None without a checkpoint."""
    return None if checkpoint is None else read_model_config(checkpoint).geometry


def _open(found: list[Artefact], hint: Geometry | None) -> SlotSource:
    first = found[0]
    if isinstance(first, PlaneFile):
        return PlaneFileSource(first.path, hint)
    if isinstance(first, CacheFolder):
        require_meta(first)
        source: SlotSource = CacheSource(first, cache_geometry(first, hint))
    else:
        source = _open_packs([check_pack(file) for file in found if isinstance(file, PackFile)], hint)
    if not source.layers:
        source.close()
        raise ArtefactDamagedError(f"{source.path} holds no whole layer", fix="see `moet-boot planes inspect`")
    return source


def _open_packs(packs: list[CheckedPack], hint: Geometry | None) -> PackSource:
    """The base pack, and every other pack that has all of its layers."""
    lead = next((pack for pack in packs if pack.kind is SlotKind.BASE), packs[0])
    together = [pack for pack in packs if set(pack.layers) >= set(lead.layers)]
    geometry, exact = pack_geometry([lead, *(pack for pack in together if pack is not lead)], hint)
    return PackSource([lead, *(pack for pack in together if pack is not lead)], geometry, exact=exact)
