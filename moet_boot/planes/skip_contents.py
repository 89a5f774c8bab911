"""The one thing no server checks: whether the bytes of a pack or cache are what the checkpoint gives."""

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, MoetBootError
from moet_boot.planes.cache_source import CacheSource
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.identity import rank_suffix
from moet_boot.planes.loader_skip import cache_serves, store_accepts
from moet_boot.planes.open_source import open_checkpoint
from moet_boot.planes.pack_source import CheckedPack, PackSource
from moet_boot.planes.planes_cache import NO_CACHE, part_sections
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.planes.skip_modes import ContentsMode
from moet_boot.planes.skip_reader import SkipRequest
from moet_boot.planes.slot_source import SlotSource, differing_sections
from moet_boot.planes.store_scan import describe_cache, describe_pack
from moet_boot.units import MIB

WHOLE_BELOW_BYTES = 256 * MIB
SAMPLE_SEED = 20260801


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
        with closing(open_checkpoint(request.model_dir, world=request.world, rank=request.rank)) as maker:
            return _compare_all(facts, request, mode, maker, on_progress)
    except MoetBootError as failure:
        return facts, ContentsReport(mode, 0, 0, f"contents not compared: {failure.what}")


def chosen_slots(layers: list[int], experts: int, expert_bytes: int, mode: ContentsMode) -> list[tuple[int, int]]:
    """(layer, expert) of the slots to compare: reproducible, so that a finding can be shown again."""
    small = len(layers) * experts * expert_bytes <= WHOLE_BELOW_BYTES
    if mode is ContentsMode.FULL or small:
        return [(layer, expert) for layer in layers for expert in range(experts)]
    dice = random.Random(SAMPLE_SEED)  # noqa: S311  (a sample, no secret)
    return [(layer, dice.randrange(experts)) for layer in layers]


@dataclass(frozen=True)
class _Job:
    """A store that the boot reads: its packs by tag, the planes cache without one."""

    tag: SlotKind | None
    source: SlotSource
    layers: list[int]
    sections: list[str]


def _compare_all(
    facts: SkipFacts, request: SkipRequest, mode: ContentsMode, maker: SlotSource, on_progress: Progress
) -> tuple[SkipFacts, ContentsReport]:
    jobs = list(_pack_jobs(facts, request) if facts.settings.base_cache else _cache_jobs(facts, request))
    experts, size = facts.geometry.n_experts, facts.geometry.checkpoint_expert_bytes
    plans = [chosen_slots(job.layers, experts, size, mode) for job in jobs]
    total, done = sum(len(plan) for plan in plans), 0
    for job, plan in zip(jobs, plans, strict=True):
        damaged: set[int] = set()
        with closing(job.source):
            for layer, expert in plan:
                if layer not in damaged and not _same(job, maker, layer, expert):
                    damaged.add(layer)
                done += 1
                on_progress(done * size, total * size)
        facts = _with_damage(facts, job.tag, tuple(sorted(damaged)))
    return facts, ContentsReport(mode, total, sum(len(job.layers) for job in jobs) * experts)


def _same(job: _Job, maker: SlotSource, layer: int, expert: int) -> bool:
    try:
        mine = job.source.slot(layer, expert, job.sections)
    except ArtefactDamagedError:
        return False
    return not differing_sections(mine, maker.slot(layer, expert, job.sections), job.sections)


def _with_damage(facts: SkipFacts, tag: SlotKind | None, layers: tuple[int, ...]) -> SkipFacts:
    if tag is not None:
        return replace(facts, packs={**facts.packs, tag: replace(facts.packs[tag], damaged_layers=layers)})
    return replace(facts, cache=replace(facts.cache or NO_CACHE, damaged_layers=layers))


def _pack_jobs(facts: SkipFacts, request: SkipRequest) -> Iterator[_Job]:
    store = _host(request, facts.settings.store_dir)
    for tag in facts.pack_tags:
        want = facts.wanted_pack(tag)
        stem = want.stem(facts.server, rank_suffix(request.rank, request.world))
        file = describe_pack(store / f"{stem}.json") if store else None
        layers = [layer for layer, accepted in enumerate(store_accepts(facts, tag)) if accepted]
        if file and layers and facts.packs[tag].size:
            checked = CheckedPack(file, tag, want.shape, tuple(layers))
            source = PackSource([checked], facts.geometry, exact=True)
            yield _Job(tag, source, layers, list(source.sections))


def _cache_jobs(facts: SkipFacts, request: SkipRequest) -> Iterator[_Job]:
    root, settings = _host(request, facts.settings.planes_cache), facts.settings
    folder = describe_cache(root / facts.wanted_cache.folder(facts.server)) if root else None
    layers = [layer for layer, served in enumerate(cache_serves(facts)) if served]
    if folder and layers:
        source = CacheSource(folder, facts.geometry)
        needed = part_sections(fp4=settings.fp4_tier, split=settings.split).values()
        yield _Job(None, source, layers, [name for name in needed if name in source.sections])


def _host(request: SkipRequest, path: str | None) -> Path | None:
    return request.mounts.host(path) if path else None
