"""Describes one rank's folder of a planes cache from its meta.json, file sizes and holes."""

from collections import Counter
from collections.abc import Mapping

from moet_boot.errors import MoetBootError
from moet_boot.planes.cache_source import cache_facts, cache_geometry, require_meta
from moet_boot.planes.description import Description
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.hole_layers import file_holes
from moet_boot.planes.planes_cache import (
    FP4_PARTS,
    PLANE_PARTS,
    SPLIT,
    CacheFacts,
    missing_parts,
    parse_part_name,
    part_name,
    part_sizes,
)
from moet_boot.planes.store_scan import CacheFolder

# bytes of each part when planes13 has 16 (a.4, c.6)
_PROPORTIONS = {"planes13": 16, "sc13": 2, "planes2": 8, "sc2": 1, "fp13": 32, "fp2": 16}
_SPLIT_PROPORTIONS = _PROPORTIONS | {"fp13": 20, "fp2": 10}


def describe_cache_folder(cache: CacheFolder, hint: Geometry | None) -> Description:
    """Never raises for what a cache is, only OSError for a disk that cannot be read."""
    facts, split = cache_facts(cache), cache.meta.get("fp4_split") == SPLIT
    geometry = _geometry(cache, hint)
    sizes = part_sizes(geometry, fp4=True, split=split) if geometry else _likely_sizes(facts, split=split)
    layers = _layers(facts, sizes, PLANE_PARTS)
    stats = [path.stat() for path in cache.path.iterdir() if path.is_file()]
    return Description(
        kind="planes-cache",
        format=cache.server.value,
        path=cache.path,
        apparent_bytes=sum(stat.st_size for stat in stats),
        allocated_bytes=sum(stat.st_blocks * 512 for stat in stats),
        layers=layers,
        n_layers=geometry.n_layers if geometry else None,
        n_experts=geometry.n_experts if geometry else None,
        slot_bytes=geometry.slot_bytes if geometry else None,
        geometry=geometry,
        world=cache.world,
        rank=cache.rank,
        ckpt_id=cache.meta.get("ckpt_id"),
        zero_mode=cache.meta.get("zero_mode"),
        fp4_layers=_layers(facts, sizes, FP4_PARTS),
        fp4_split=split,
        hole_layers=_hole_layers(cache),
        problems=(*_meta_problems(cache), *_part_problems(facts, sizes)),
        notes=() if geometry else ("a cache does not state its geometry: give --checkpoint",),
    )


def _geometry(cache: CacheFolder, hint: Geometry | None) -> Geometry | None:
    try:
        return cache_geometry(cache, hint)
    except MoetBootError:
        return None


def _likely_sizes(facts: CacheFacts, *, split: bool) -> dict[str, int]:
    """Part sizes of an unknown model, in proportion to the most frequent size of planes13."""
    names = ((parse_part_name(name), size) for name, size in facts.parts.items())
    counted = Counter(size for named, size in names if named and named[1] == "planes13" and size)
    if not counted:
        return {}
    ((unit, _),) = counted.most_common(1)
    proportions = _SPLIT_PROPORTIONS if split else _PROPORTIONS
    return {part: unit * share // _PROPORTIONS["planes13"] for part, share in proportions.items()}


def _layers(facts: CacheFacts, sizes: Mapping[str, int], parts: Mapping[str, str]) -> tuple[int, ...]:
    """Layers that have all of these parts in their right size."""
    needed = {part: sizes[part] for part in parts if part in sizes}
    named = {found[0] for name in facts.parts if (found := parse_part_name(name))}
    return tuple(layer for layer in sorted(named) if needed and not missing_parts(facts, layer, needed))


def _part_problems(facts: CacheFacts, sizes: Mapping[str, int]) -> list[str]:
    """Files of a wrong size, and layers of which only some parts are there."""
    found: list[str] = []
    for layer in sorted({named[0] for name in facts.parts if (named := parse_part_name(name))}):
        for part in sizes:
            name = part_name(layer, part)
            if name not in facts.parts and part in PLANE_PARTS:
                found.append(f"{name} is missing")
            elif name in facts.parts and facts.parts[name] != sizes[part]:
                found.append(f"{name} has {facts.parts[name]} bytes, expected {sizes[part]}")
    return found


def _hole_layers(cache: CacheFolder) -> tuple[int, ...]:
    parts = ((parse_part_name(path.name), path) for path in cache.path.iterdir() if path.is_file())
    return tuple(sorted({named[0] for named, path in parts if named and file_holes(path)}))


def _meta_problems(cache: CacheFolder) -> list[str]:
    try:
        require_meta(cache)
    except MoetBootError as failure:
        return [failure.what]
    found: list[str] = []
    if (cache.meta.get("world"), cache.meta.get("rank")) != (cache.world, cache.rank):
        found.append("meta.json names another rank than its folder: the server never takes it")
    if not cache.meta.get("ckpt_id"):
        found.append("meta.json has no ckpt_id: the server never takes it")
    return found
