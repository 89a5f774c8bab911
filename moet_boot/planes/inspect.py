"""`inspect_planes`: what lies at a path, from names, sizes and small files. No slot is read."""

import os
from pathlib import Path

from moet_boot.planes.artefacts import Artefact, PlaneFile, find_artefacts
from moet_boot.planes.describe_cache import describe_cache_folder
from moet_boot.planes.describe_pack import describe_pack_file
from moet_boot.planes.description import Description
from moet_boot.planes.direct_io import unreadable
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.hole_layers import layers_with_holes
from moet_boot.planes.moet2pf import FileLayout
from moet_boot.planes.moet2pf_read import read_header_facts
from moet_boot.planes.store_scan import PackFile


def inspect_planes(path: Path, hint: Geometry | None = None) -> list[Description]:
    """Describe every artefact at a path.

    Raises ArtefactMissingError when nothing is there, ArtefactDamagedError when it is nothing of ours or
    cannot be read. What is wrong with an artefact is in its description.
    """
    found = find_artefacts(path)
    try:
        return [_describe(artefact, hint) for artefact in found]
    except OSError as error:
        raise unreadable(Path(os.fsdecode(error.filename or path)), error) from error


def _describe(artefact: Artefact, hint: Geometry | None) -> Description:
    if isinstance(artefact, PlaneFile):
        return _describe_plane_file(artefact.path, hint)
    if isinstance(artefact, PackFile):
        return describe_pack_file(artefact, hint)
    return describe_cache_folder(artefact, hint)


def _describe_plane_file(path: Path, hint: Geometry | None) -> Description:
    facts, stat = read_header_facts(path), path.stat()
    geometry = facts.geometry or hint
    layers = tuple(range(geometry.n_layers)) if geometry and not facts.problems else ()
    return Description(
        kind="moet2pf",
        format=facts.format.value,
        path=path,
        apparent_bytes=stat.st_size,
        allocated_bytes=stat.st_blocks * 512,
        layers=layers,
        n_layers=geometry.n_layers if geometry else None,
        n_experts=geometry.n_experts if geometry else None,
        slot_bytes=geometry.slot_bytes if geometry else None,
        stride=geometry.slot_stride if geometry else None,
        geometry=geometry,
        repo=facts.header.repo if facts.header else None,
        revision=facts.revision,
        expected_bytes=facts.size_expected,
        hole_layers=_hole_layers(path, stat.st_size, geometry),
        problems=facts.problems,
        notes=() if geometry else ("its geometry is unknown: give --checkpoint with the model's config.json",),
    )


def _hole_layers(path: Path, size: int, geometry: Geometry | None) -> tuple[int, ...]:
    """Layers whose slots reach into holes; without a usable geometry nothing can be placed."""
    if geometry is None or size != FileLayout(geometry).file_bytes:
        return ()
    start = size - geometry.n_slots * geometry.slot_stride
    layer_bytes = geometry.n_experts * geometry.slot_stride
    return layers_with_holes(path, layer_bytes, frozenset(range(geometry.n_layers)), start)
