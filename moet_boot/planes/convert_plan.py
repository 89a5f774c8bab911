"""What a conversion has to write: identities, kinds and layers, decided before anything is touched."""

from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.planes.cache_target import CacheTarget
from moet_boot.planes.checkpoint_identity import checkpoint_id, read_checkpoint_indexes
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.identity import INDEX_FILES, is_commit, rank_suffix
from moet_boot.planes.moet2pf import DIGEST_BYTES, Header
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.pack_target import PackTarget
from moet_boot.planes.plane_file_target import PlaneFileTarget
from moet_boot.planes.planes_cache import CacheIdentity
from moet_boot.planes.slot_source import SlotSource
from moet_boot.planes.slot_target import SlotTarget

UNKNOWN = "unknown"


PACK_KINDS = {
    Fp4.NONE: (SlotKind.BASE,),
    Fp4.PLAIN: (SlotKind.BASE, SlotKind.FP4),
    Fp4.SPLIT: (SlotKind.BASE, SlotKind.FP4Q),
    Fp4.DELTA: (SlotKind.DELTA,),
}


def make_targets(request: ConvertRequest, source: SlotSource, fp4: Fp4) -> list[SlotTarget]:
    """The containers to write; raises UsageError when the source lacks what they need."""
    if request.to is Container.MOET2PF:
        return [_plane_file(request, source)]
    ckpt_id = target_ckpt_id(request, source)
    zero_mode = request.zero_mode or source.origin.zero_mode or "auto"
    if not request.to.is_pack:
        return [
            _cache(request, source, CacheIdentity(ckpt_id, source.world, source.rank, zero_mode, fp4 is Fp4.SPLIT), fp4)
        ]
    shapes = [PackShape.of(source.geometry, kind) for kind in PACK_KINDS[fp4]]
    return [_pack(request, source, PackIdentity(shape, ckpt_id, zero_mode)) for shape in shapes]


def target_ckpt_id(request: ConvertRequest, source: SlotSource) -> str:
    """The identity to write: the one given, the one the server will compute, or the one the source has."""
    if request.ckpt_id is not None:
        return request.ckpt_id.strip()
    server = request.to.server
    if request.served_path is not None:
        return checkpoint_id(server, request.checkpoint, request.served_path, request.revision or "")
    if source.origin.server is server and source.origin.ckpt_id:
        return source.origin.ckpt_id
    raise UsageError(
        f"a {request.to} needs the identity of the checkpoint it will be served with, and {source.path.name} has none",
        fix="give --checkpoint DIR and --served-path STR (the model string of the server, e.g. /model), or --ckpt-id",
    )


def _plane_file(request: ConvertRequest, source: SlotSource) -> SlotTarget:
    geometry, origin = source.geometry, source.origin
    if source.world > 1:
        raise UsageError(
            f"{source.path.name} holds rank {source.rank} of {source.world}; a plane file holds whole experts",
            fix="convert it to another pack or cache, or build a plane file from the checkpoint",
        )
    if not source.exact:
        raise UsageError(
            f"{source.path.name} does not say hidden and intermediate size, which a plane file states",
            fix="give --checkpoint with the model's config.json",
        )
    missing = sorted(set(range(geometry.n_layers)) - set(source.layers))
    if missing:
        raise UsageError(
            f"{source.path.name} lacks layers {missing}; a plane file holds every layer",
            fix="complete the source first",
        )
    header = Header(
        geometry,
        repo=request.repo or origin.repo or UNKNOWN,
        revision=request.revision or origin.revision or _snapshot_revision(request.checkpoint) or UNKNOWN,
        index_sha256=_index_sha256(request.checkpoint) or origin.index_sha256 or bytes(DIGEST_BYTES),
    )
    return PlaneFileTarget(request.out, header, b"convert", force=request.force)


def _index_sha256(checkpoint: Path | None) -> bytes | None:
    files = read_checkpoint_indexes(checkpoint) if checkpoint else {}
    return files.get(INDEX_FILES[0])


def _snapshot_revision(checkpoint: Path | None) -> str | None:
    """A snapshot in the hub's cache is a folder named by its commit."""
    folder = checkpoint.resolve() if checkpoint else Path()
    return folder.name if folder.parent.name == "snapshots" and is_commit(folder.name) else None


def _cache(request: ConvertRequest, source: SlotSource, identity: CacheIdentity, fp4: Fp4) -> SlotTarget:
    return CacheTarget(
        request.out,
        identity,
        source.geometry,
        source.layers,
        server=request.to.server,
        fp4=fp4 is not Fp4.NONE,
        force=request.force,
    )


def _pack(request: ConvertRequest, source: SlotSource, identity: PackIdentity) -> SlotTarget:
    return PackTarget(
        request.out,
        identity,
        source.geometry,
        source.layers,
        server=request.to.server,
        suffix=rank_suffix(source.rank, source.world),
        force=request.force,
    )
