"""Collects from the disk what decides about the loader skip. It reads names, sizes and small files only."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, MoetBootError, UsageError
from moet_boot.planes.checkpoint_identity import checkpoint_id
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.hole_layers import file_holes, layers_with_holes
from moet_boot.planes.identity import rank_suffix
from moet_boot.planes.json_file import FileState, read_json
from moet_boot.planes.model_config import read_model_config
from moet_boot.planes.pack_gates import PackFacts
from moet_boot.planes.pack_store import PackIdentity
from moet_boot.planes.path_map import PathMap
from moet_boot.planes.planes_cache import META_NAME, SPLIT, CacheFacts, parse_part_name
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_facts import Folder, FolderState, Neighbour, SkipFacts
from moet_boot.planes.store_scan import CacheFolder, PackFile, find_caches, find_packs
from moet_boot.planes.w2_settings import W2Settings

COMMON_MODELS = ("/model", "/workspace/models/DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Flash")


@dataclass(frozen=True)
class SkipRequest:
    """A boot to forecast: the server's environment, model string and mounts, and where the checkpoint lies here."""

    env: Mapping[str, str]
    model_dir: Path
    served_path: str
    server: ServerVersion
    mounts: PathMap = field(default_factory=PathMap)
    world: int = 1
    rank: int = 0
    revision: str = ""


@dataclass(frozen=True)
class _Identity:
    ckpt_id: str | None
    problem: str = ""
    revision_missing: bool = False


def read_skip_facts(request: SkipRequest) -> SkipFacts:
    """What the server will find.

    Raises UsageError for a request that makes no sense, and the artefact errors when the checkpoint's
    config.json cannot be used. Anything wrong with a cache is a fact and not an error.
    """
    if not 0 <= request.rank < request.world:
        raise UsageError(
            f"rank {request.rank} does not exist in a world of {request.world}", fix="--rank counts from 0"
        )
    settings = W2Settings.from_env(request.env, request.server)
    config = read_model_config(request.model_dir, request.world)
    identity = _identity(request, settings)
    bare = SkipFacts(
        settings=settings,
        geometry=config.geometry,
        model=request.served_path,
        ckpt_id=identity.ckpt_id,
        ckpt_problem=identity.problem,
        revision_missing=identity.revision_missing,
        rank=request.rank,
        expert_dtype=config.expert_dtype,
    )
    try:
        return _with_stores(bare, request)
    except OSError as failure:
        raise ArtefactDamagedError(
            f"{failure.filename or 'a cache'} cannot be examined: {failure.strerror}", fix="check the disk and its log"
        ) from failure


def _with_stores(bare: SkipFacts, request: SkipRequest) -> SkipFacts:
    store, store_dir = _folder(bare.settings.store_dir, request.mounts)
    cache, cache_dir = _folder(bare.settings.planes_cache, request.mounts)
    return replace(
        bare,
        store=store,
        cache_folder=cache,
        packs=_packs(bare, store_dir) if store_dir else {},
        cache=_cache(bare, cache_dir) if cache_dir else None,
        neighbours=(*_near_packs(store_dir), *_near_caches(cache_dir)),
        known_models=_known_models(request),
    )


def _identity(request: SkipRequest, settings: W2Settings) -> _Identity:
    if settings.ckpt_id is not None:
        return _Identity(settings.ckpt_id)
    try:
        return _Identity(checkpoint_id(request.server, request.model_dir, request.served_path, request.revision))
    except UsageError as failure:
        return _Identity(None, failure.what, revision_missing=True)
    except MoetBootError as failure:
        return _Identity(None, failure.what)


def _folder(path: str | None, mounts: PathMap) -> tuple[Folder | None, Path | None]:
    """The folder as a fact, and where to read it when it can be read."""
    if path is None:
        return None, None
    host = mounts.host(path)
    if host is None:
        return Folder(path, FolderState.NOT_MOUNTED), None
    if not os.path.lexists(host):
        return Folder(path, FolderState.MISSING), None
    if not host.is_dir() or not os.access(host, os.R_OK | os.X_OK):
        return Folder(path, FolderState.UNREADABLE), None
    return Folder(path, FolderState.THERE), host


def _packs(facts: SkipFacts, store: Path) -> dict[SlotKind, PackFacts]:
    suffix = rank_suffix(facts.rank, facts.geometry.tp)
    wanted = {tag: facts.wanted_pack(tag) for tag in (*facts.pack_tags, facts.settings.fp4_tag)}
    return {tag: _pack(store / want.stem(facts.server, suffix), want) for tag, want in wanted.items()}


def _pack(stem: Path, want: PackIdentity) -> PackFacts:
    sidecar = read_json(stem.with_name(f"{stem.name}.json"))
    path = stem.with_name(f"{stem.name}.pack")
    size = _size(path)
    listed = sidecar.get("layers")
    layers = frozenset(layer for layer in listed if type(layer) is int) if isinstance(listed, list) else frozenset()
    holes = layers_with_holes(path, want.shape.layer_bytes, layers) if size and layers else ()
    return PackFacts(sidecar, size, hole_layers=holes)


def _cache(facts: SkipFacts, root: Path) -> CacheFacts:
    folder = root / facts.wanted_cache.folder(facts.server)
    if not folder.is_dir():
        return CacheFacts(read_json(folder / META_NAME))
    parts: dict[str, int] = {}
    hole_layers: set[int] = set()
    for path in folder.iterdir():
        layer_part, size = parse_part_name(path.name), _size(path)
        if layer_part is not None and size is not None:
            parts[path.name] = size
            if file_holes(path):
                hole_layers.add(layer_part[0])
    return CacheFacts(read_json(folder / META_NAME), parts, tuple(sorted(hole_layers)))


def _size(path: Path) -> int | None:
    """Size of a regular file that can be read, None for anything else."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return None
    return path.stat().st_size


def _near_packs(store: Path | None) -> Iterable[Neighbour]:
    packs = find_packs(store) if store else []
    known = [found for found in packs if found.tag in set(SlotKind) and found.sidecar.state is FileState.FOUND]
    return [_near_pack(found) for found in known]


def _near_pack(found: PackFile) -> Neighbour:
    sidecar = found.sidecar
    return Neighbour(
        server=found.server,
        tag=SlotKind(found.tag),
        ckpt_id=sidecar.get("ckpt_id"),
        zero_mode=sidecar.get("zero_mode"),
        world=found.world,
        rank=found.rank,
        n_layers=sidecar.get("n_layers"),
    )


def _near_caches(root: Path | None) -> Iterable[Neighbour]:
    caches = find_caches(root) if root else []
    return [_near_cache(found) for found in caches if found.meta.state is FileState.FOUND]


def _near_cache(found: CacheFolder) -> Neighbour:
    meta = found.meta
    return Neighbour(
        server=found.server,
        tag=None,
        ckpt_id=meta.get("ckpt_id"),
        zero_mode=meta.get("zero_mode"),
        world=found.world,
        rank=found.rank,
        split=meta.get("fp4_split") == SPLIT,
    )


def _known_models(request: SkipRequest) -> dict[str, str]:
    """v1 ids of the strings under which this checkpoint is likely to have been served."""
    if request.server is ServerVersion.V2:
        return {}
    plain = request.served_path.rstrip("/")
    known: dict[str, str] = {}
    for model in (plain, f"{plain}/", str(request.model_dir), *COMMON_MODELS):
        try:
            known.setdefault(checkpoint_id(request.server, request.model_dir, model), model)
        except MoetBootError:
            return known
    return known
