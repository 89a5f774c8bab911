"""Describes a pack from its sidecar, its size and its holes."""

from moet_boot.errors import MoetBootError
from moet_boot.planes.description import Description
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.hole_layers import layers_with_holes
from moet_boot.planes.pack_source import CheckedPack, check_pack, pack_geometry
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.store_scan import PackFile


def describe_pack_file(pack: PackFile, hint: Geometry | None) -> Description:
    """Never raises for what a pack is, only OSError for a disk that cannot be read."""
    apparent, allocated = _sizes(pack)
    try:
        checked = check_pack(pack)
    except MoetBootError as failure:
        return _unchecked(pack, apparent, allocated, failure.what)
    geometry, exact, problems = _geometry(checked, hint)
    shape, sidecar = checked.shape, pack.sidecar
    return Description(
        kind="pack",
        format=pack.server.value,
        path=pack.pack_path,
        apparent_bytes=apparent,
        allocated_bytes=allocated,
        layers=checked.layers,
        n_layers=shape.n_layers - 1,
        n_experts=shape.n_experts,
        slot_bytes=shape.slot_bytes,
        stride=shape.stride,
        geometry=geometry if exact else None,
        tag=shape.tag,
        world=pack.world,
        rank=pack.rank,
        ckpt_id=sidecar.get("ckpt_id"),
        zero_mode=sidecar.get("zero_mode"),
        expected_bytes=shape.file_bytes,
        hole_layers=layers_with_holes(pack.pack_path, shape.layer_bytes, frozenset(checked.layers)),
        problems=problems,
        notes=_notes(pack, exact=exact),
    )


def _geometry(checked: CheckedPack, hint: Geometry | None) -> tuple[Geometry | None, bool, tuple[str, ...]]:
    try:
        geometry, exact = pack_geometry([checked], hint)
    except MoetBootError as failure:
        return None, False, (failure.what,)
    return geometry, exact, ()


def _notes(pack: PackFile, *, exact: bool) -> tuple[str, ...]:
    notes = () if exact else ("hidden and intermediate size are not stated: give --checkpoint",)
    if pack.sidecar.get("ckpt_id"):
        return notes
    outcome = "aborts the boot on it" if pack.server is ServerVersion.V1 else "ignores it"
    return (*notes, f"the sidecar has no ckpt_id: a {pack.server} server {outcome}")


def _sizes(pack: PackFile) -> tuple[int, int]:
    if not pack.pack_path.is_file():
        return 0, 0
    stat = pack.pack_path.stat()
    return stat.st_size, stat.st_blocks * 512


def _unchecked(pack: PackFile, apparent: int, allocated: int, problem: str) -> Description:
    return Description(
        kind="pack",
        format=pack.server.value,
        path=pack.pack_path,
        apparent_bytes=apparent,
        allocated_bytes=allocated,
        layers=(),
        tag=pack.tag,
        world=pack.world,
        rank=pack.rank,
        problems=(problem,),
    )
