"""The one thing no server checks: whether the bytes of a pack or cache are what the checkpoint gives."""

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, MoetBootError
from moet_boot.planes.cache_source import CacheSource
from moet_boot.planes.checkpoint_source import CheckpointSource
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.identity import rank_suffix
from moet_boot.planes.loader_skip import cache_serves, store_accepts
from moet_boot.planes.pack_source import CheckedPack, PackSource
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.planes.skip_reader import SkipRequest
from moet_boot.planes.slot_source import SlotSource, differing_sections
from moet_boot.planes.store_scan import describe_cache, describe_pack
from moet_boot.units import MIB

WHOLE_BELOW_BYTES = 256 * MIB
SAMPLE_SEED = 20260801


class ContentsMode(StrEnum):
    """How many slots are compared: none, one of each layer (all of a small model), or all."""

    NONE = "none"
    SAMPLE = "sample"
    FULL = "full"


@dataclass(frozen=True)
class ContentsReport:
    """How far contents were compared; `note` says why not, when they were not."""

    mode: ContentsMode
    compared_slots: int
    all_slots: int
    note: str | None = None


def check_contents(
    facts: SkipFacts, request: SkipRequest, mode: ContentsMode, on_progress: Progress = no_progress
) -> tuple[SkipFacts, ContentsReport]:
    """The facts with the layers whose bytes differ from the checkpoint's, and how many slots were compared.

    Only what the server would serve is looked at. A checkpoint that cannot be read leaves contents unchecked.
    """
    if mode is ContentsMode.NONE:
        return facts, ContentsReport(mode, 0, 0, "not asked for")
    try:
        with closing(CheckpointSource(request.model_dir, world=request.world, rank=request.rank)) as maker:
            return _compare_all(facts, request, mode, maker, on_progress)
    except MoetBootError as failure:
        return facts, ContentsReport(mode, 0, 0, f"contents not compared: {failure.what}")


def _compare_all(
    facts: SkipFacts, request: SkipRequest, mode: ContentsMode, maker: CheckpointSource, on_progress: Progress
) -> tuple[SkipFacts, ContentsReport]:
    jobs = list(_pack_jobs(facts, request) if facts.settings.base_cache else _cache_jobs(facts, request))
    packs, cache = dict(facts.packs), facts.cache
    plans = [_chosen(facts, layers, mode) for _, _, layers in jobs]
    total, done = sum(len(plan) for plan in plans), 0
    for (tag, source, _), plan in zip(jobs, plans, strict=True):
        damaged: set[int] = set()
        with closing(source):
            for layer, expert in plan:
                if layer not in damaged and not _same(source, maker, layer, expert):
                    damaged.add(layer)
                done += 1
                on_progress(done, total)
        if tag is not None:
            packs[tag] = replace(packs[tag], damaged_layers=tuple(sorted(damaged)))
        elif cache is not None:
            cache = replace(cache, damaged_layers=tuple(sorted(damaged)))
    all_slots = sum(len(layers) for _, _, layers in jobs) * facts.geometry.n_experts
    return replace(facts, packs=packs, cache=cache), ContentsReport(mode, total, all_slots)


def _same(source: SlotSource, maker: CheckpointSource, layer: int, expert: int) -> bool:
    try:
        mine = source.slot(layer, expert, source.sections)
    except ArtefactDamagedError:
        return False
    return not differing_sections(mine, maker.slot(layer, expert, source.sections), source.sections)


def _chosen(facts: SkipFacts, layers: list[int], mode: ContentsMode) -> list[tuple[int, int]]:
    """The slots to compare: reproducible, so that a finding can be shown again."""
    experts = facts.geometry.n_experts
    small = len(layers) * experts * facts.geometry.checkpoint_expert_bytes <= WHOLE_BELOW_BYTES
    if mode is ContentsMode.FULL or small:
        return [(layer, expert) for layer in layers for expert in range(experts)]
    dice = random.Random(SAMPLE_SEED)  # noqa: S311  (a sample, no secret)
    return [(layer, dice.randrange(experts)) for layer in layers]


_Job = tuple[SlotKind | None, SlotSource, list[int]]


def _pack_jobs(facts: SkipFacts, request: SkipRequest) -> Iterator[_Job]:
    store = _host(request, facts.settings.store_dir)
    for tag in facts.pack_tags:
        want = facts.wanted_pack(tag)
        stem = want.stem(facts.server, rank_suffix(request.rank, request.world))
        file = describe_pack(store / f"{stem}.json") if store else None
        layers = [layer for layer, accepted in enumerate(store_accepts(facts, tag)) if accepted]
        if file and layers and facts.packs[tag].size:
            checked = CheckedPack(file, tag, want.shape, tuple(layers))
            yield tag, PackSource([checked], facts.geometry, exact=True), layers


def _cache_jobs(facts: SkipFacts, request: SkipRequest) -> Iterator[_Job]:
    root = _host(request, facts.settings.planes_cache)
    folder = describe_cache(root / facts.wanted_cache.folder(facts.server)) if root else None
    layers = [layer for layer, served in enumerate(cache_serves(facts)) if served]
    if folder and layers:
        yield None, CacheSource(folder, facts.geometry), layers


def _host(request: SkipRequest, path: str | None) -> Path | None:
    return request.mounts.host(path) if path else None
