"""Packs, caches and plane files of fake planes, as small as the format allows."""

from pathlib import Path

from moet_boot.planes.cache_target import CacheTarget
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.identity import rank_suffix
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.pack_target import PackTarget
from moet_boot.planes.plane_file_target import PlaneFileTarget
from moet_boot.planes.planes_cache import CacheIdentity
from moet_boot.planes.server_version import ServerVersion
from testing.fake_planes import TINY, FakeSource, fill

V1 = ServerVersion.V1


def make_pack(
    store: Path,
    geometry: Geometry = TINY,
    kind: SlotKind = SlotKind.BASE,
    *,
    server: ServerVersion = V1,
    ckpt_id: str = "id",
    rank: int = 0,
    layers: tuple[int, ...] | None = None,
) -> Path:
    """Write one pack; return its rows' file."""
    store.mkdir(exist_ok=True)
    chosen = tuple(range(geometry.n_layers)) if layers is None else layers
    suffix = rank_suffix(rank, geometry.tp)
    identity = PackIdentity(PackShape.of(geometry, kind), ckpt_id)
    target = PackTarget(store, identity, geometry, chosen, server=server, suffix=suffix)
    return fill(target, FakeSource(geometry, rank=rank, layers=chosen))[0]


def make_cache(
    root: Path,
    geometry: Geometry = TINY,
    *,
    server: ServerVersion = V1,
    ckpt_id: str = "id",
    rank: int = 0,
    fp4: bool = False,
    split: bool = False,
    layers: tuple[int, ...] | None = None,
) -> Path:
    """Write one rank's folder and return it."""
    root.mkdir(exist_ok=True)
    chosen = tuple(range(geometry.n_layers)) if layers is None else layers
    identity = CacheIdentity(ckpt_id, geometry.tp, rank, split=split)
    target = CacheTarget(root, identity, geometry, chosen, server=server, fp4=fp4)
    return fill(target, FakeSource(geometry, rank=rank, layers=chosen))[0]


def make_plane_file(path: Path, geometry: Geometry = TINY) -> Path:
    """Write one plane file."""
    return fill(PlaneFileTarget(path, Header(geometry, "fake/planes", "f" * 40), b"fake"), FakeSource(geometry))[0]
