"""Which layers of a planes cache and a pack store the server of a plan will take: complete or not."""

from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.planes import loader_skip
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.skip_dangers import pack_danger
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from moet_boot.profile.model import ArtefactKind

MAX_PROBLEMS = 5


@dataclass(frozen=True)
class StoreSummary:
    """How many of the layers that it must have a store has, and why it lacks the others."""

    present: int
    expected: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoresSummary:
    """Both kinds of store. None where the plan's server never looks into one."""

    planes_cache: StoreSummary | None
    pack_store: StoreSummary | None

    def of(self, kind: ArtefactKind) -> StoreSummary | None:
        """The summary of an artefact of this kind."""
        return {ArtefactKind.PLANES_CACHE: self.planes_cache, ArtefactKind.PACK_STORE: self.pack_store}.get(kind)


def read_stores(request: SkipRequest) -> StoresSummary:
    """Raises the artefact errors of a checkpoint whose config cannot be used."""
    return summarize(read_skip_facts(request))


def summarize(facts: SkipFacts) -> StoresSummary:
    """Pure: the facts that decide about the loader skip, reduced to what the server counts as present.

    Problems are the reasons of misses, and the dangers that the server does not see in what it takes.
    """
    forecast = loader_skip.forecast(facts)
    wanted = [layer.layer for layer in forecast.layers if layer.w2]
    if not wanted:
        return StoresSummary(None, None)
    reasons = [layer.danger or layer.reason for layer in forecast.layers if layer.w2]
    over_packs = facts.settings.base_cache
    cache = pack = None
    if facts.settings.planes_cache and not over_packs:
        serves = loader_skip.cache_serves(facts)
        cache = StoreSummary(sum(serves[layer] for layer in wanted), len(wanted), _distinct(reasons))
    if tags := _pack_tags(facts):
        accepted = {tag: loader_skip.store_accepts(facts, tag) for tag in tags}
        present = sum(all(gate[layer] for gate in accepted.values()) for layer in wanted)
        dangers = [pack_danger(facts, tag, layer) for tag in tags for layer in wanted if accepted[tag][layer]]
        pack = StoreSummary(present, len(wanted), _distinct([*(reasons if over_packs else ()), *dangers]))
    return StoresSummary(cache, pack)


def _pack_tags(facts: SkipFacts) -> tuple[SlotKind, ...]:
    """The packs that a boot reads or fills: the base behind a base cache, the experts of the FP4 tier."""
    settings = facts.settings
    if not settings.store_dir:
        return ()
    base = (SlotKind.BASE,) if settings.base_cache else ()
    return (*base, settings.fp4_tag) if settings.fp4_tier else base


def _distinct(reasons: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for reason in reasons if reason))[:MAX_PROBLEMS]
