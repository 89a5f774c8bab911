"""What a conversion has to write: identities, kinds and layers, decided before anything is touched."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.planes.cache_target import CacheTarget
from moet_boot.planes.checkpoint_identity import checkpoint_id, read_checkpoint_indexes
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.identity import INDEX_FILES, is_commit, rank_suffix
from moet_boot.planes.moet2pf import DIGEST_BYTES, Header
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.pack_target import PackTarget
from moet_boot.planes.plane_file_target import PlaneFileTarget
from moet_boot.planes.planes_cache import CacheIdentity
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.slot_source import SlotSource
from moet_boot.planes.slot_target import SlotTarget
from moet_boot.planes.w2_settings import ZERO_MODES

UNKNOWN = "unknown"
_SHA1 = re.compile(r"[0-9a-f]{40}")


class Container(StrEnum):
    """What to convert into."""

    MOET2PF = "moet2pf"
    PACK_V1 = "pack-v1"
    PACK_V2 = "pack-v2"
    CACHE_V1 = "cache-v1"
    CACHE_V2 = "cache-v2"

    @property
    def server(self) -> ServerVersion:
        """Whose format it is (without meaning for a plane file)."""
        return ServerVersion.V2 if self.value.endswith("v2") else ServerVersion.V1

    @property
    def is_pack(self) -> bool:
        return self in {Container.PACK_V1, Container.PACK_V2}


class Fp4(StrEnum):
    """Which FP4 parts to write beside the 2-bit planes.

    `auto` takes what the source has, else what a whole checkpoint gives, else none. `delta` is the pack that
    a boot from a planes cache keeps its FP4 pool in; it has no 2-bit part.
    """

    AUTO = "auto"
    NONE = "none"
    PLAIN = "plain"
    SPLIT = "split"
    DELTA = "delta"


PACK_KINDS = {
    Fp4.NONE: (SlotKind.BASE,),
    Fp4.PLAIN: (SlotKind.BASE, SlotKind.FP4),
    Fp4.SPLIT: (SlotKind.BASE, SlotKind.FP4Q),
    Fp4.DELTA: (SlotKind.DELTA,),
}


@dataclass(frozen=True)
class ConvertRequest:
    """What the caller wants; `checkpoint` is a folder, the rest as in the server's identities."""

    source: Path
    to: Container
    out: Path
    checkpoint: Path | None = None
    served_path: str | None = None
    ckpt_id: str | None = None
    revision: str | None = None
    repo: str | None = None
    zero_mode: str | None = None
    fp4: Fp4 = Fp4.AUTO
    force: bool = False


def check_request(request: ConvertRequest) -> None:
    """Raise UsageError for combinations that can never work."""
    if request.zero_mode is not None and request.zero_mode not in ZERO_MODES:
        raise UsageError(f"zero mode {request.zero_mode!r} does not exist", fix=f"one of {', '.join(ZERO_MODES)}")
    if request.ckpt_id is not None and not request.ckpt_id.strip():
        raise UsageError("--ckpt-id is empty", fix="give the id, or let it be computed with --served-path")
    v1_store = request.to in {Container.PACK_V1, Container.CACHE_V1}
    if v1_store and request.ckpt_id and not _SHA1.fullmatch(request.ckpt_id):
        raise UsageError(
            f"{request.ckpt_id!r} can be no v1 id: those are 40 lower-case hex digits",
            fix="leave --ckpt-id out and give --served-path and --checkpoint",
        )
    if request.to is Container.MOET2PF and request.fp4 not in {Fp4.AUTO, Fp4.NONE}:
        raise UsageError("a plane file holds 2-bit planes only", fix="leave --fp4 out, or convert to a pack or cache")
    if request.fp4 is Fp4.DELTA and not request.to.is_pack:
        raise UsageError("the delta tier lives in a pack, not in a planes cache", fix="use --to pack-v1 or pack-v2")


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
