"""From a failed probe to its cause, in the order in which a person would look (planes.md f.4). Pure."""

from collections.abc import Iterable

from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.json_file import FileState, JsonFile
from moet_boot.planes.pack_gates import Gate
from moet_boot.planes.planes_cache import FP4_PARTS, NO_CACHE, missing_parts, part_name
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause, Miss
from moet_boot.planes.skip_facts import Folder, FolderState, Neighbour, SkipFacts

_MODEL_FIELDS = ("version", "E", "slot_bytes", "stride", "tag", "quantizer_abi", "n_layers")
_WRITER_FIELDS = ("zero_mode", "fp4_split", "world", "rank")


def why_no_pack(facts: SkipFacts, tag: SlotKind, layer: int, gate: Gate) -> Miss:
    """Why the pack of this tag does not give this layer."""
    return _store_unreachable(facts) or _sidecar_miss(facts, tag, gate) or _not_listed(tag, layer)


def why_no_cache(facts: SkipFacts, layer: int) -> Miss:
    """Why the planes cache does not give this layer."""
    return _cache_unreachable(facts) or _meta_miss(facts) or _parts_miss(facts, layer)


def _store_unreachable(facts: SkipFacts) -> Miss | None:
    if facts.store is not None:
        return _blocked(facts, facts.store, "VLLM_MOE_W2_STORE_DIR")
    cause = Cause.CACHE_NOT_PROBED if facts.settings.planes_cache else Cause.NO_STORE
    return Miss(cause, "VLLM_MOE_W2_STORE_DIR is unset")


def _cache_unreachable(facts: SkipFacts) -> Miss | None:
    if facts.cache_folder is not None:
        return _blocked(facts, facts.cache_folder, "VLLM_MOE_W2_PLANES_CACHE")
    if facts.settings.store_dir:
        return Miss(Cause.PACKS_NOT_PROBED, "and VLLM_MOE_W2_PLANES_CACHE is unset")
    return Miss(Cause.FOLDER, "VLLM_MOE_W2_PLANES_CACHE is unset")


def _sidecar_miss(facts: SkipFacts, tag: SlotKind, gate: Gate) -> Miss | None:
    pack = facts.packs.get(tag)
    if pack is None or pack.sidecar.state is FileState.MISSING:
        return _no_sidecar(facts, tag)
    if unreadable := _unreadable(pack.sidecar, f"{tag} pack's sidecar"):
        return unreadable
    return _sidecar_differs(facts, tag, gate) if gate.failed else None


def _not_listed(tag: SlotKind, layer: int) -> Miss:
    cause = Cause.INCOMPLETE if tag is SlotKind.BASE else Cause.NO_FP4_PACK
    return Miss(cause, f"the {tag} pack's sidecar does not list layer {layer}")


def _meta_miss(facts: SkipFacts) -> Miss | None:
    if facts.cache is None or facts.cache.meta.state is FileState.MISSING:
        return _no_meta(facts)
    if unreadable := _unreadable(facts.cache.meta, "cache's meta.json"):
        return unreadable
    same = facts.cache.meta.value == facts.wanted_cache.meta(facts.server)
    return None if same else _meta_differs(facts, facts.cache.meta)


def _parts_miss(facts: SkipFacts, layer: int) -> Miss:
    cache = facts.cache or NO_CACHE
    missing = missing_parts(cache, layer, facts.part_sizes)
    if all(part in FP4_PARTS and part_name(layer, part) not in cache.parts for part in missing):
        return Miss(Cause.FP4_PARTS, _tier_words(facts))
    return Miss(Cause.INCOMPLETE, _parts_words(facts, layer, missing))


def _blocked(facts: SkipFacts, folder: Folder, variable: str) -> Miss | None:
    if folder.state is not FolderState.THERE:
        return Miss(Cause.FOLDER, f"{variable}={folder.path} {folder.state.value}")
    if facts.ckpt_id is None:
        cause = Cause.NO_REVISION if facts.revision_missing else Cause.PROBE_FAILED
        return Miss(cause, facts.ckpt_problem)
    return None


def _unreadable(file: JsonFile, name: str) -> Miss | None:
    if file.state is FileState.FOUND and isinstance(file.value, dict):
        return None
    what = file.detail if file.state is not FileState.FOUND else "it is JSON, but not an object"
    state = FileState.NOT_JSON if file.state is FileState.FOUND else file.state
    return Miss(Cause.PROBE_FAILED, f"the {name} is {state.value} ({what})")


def _no_sidecar(facts: SkipFacts, tag: SlotKind) -> Miss:
    want = facts.wanted_pack(tag).stem(facts.server, f"rank{facts.rank}of{facts.geometry.tp}")
    if found := _explained(facts, [near for near in facts.neighbours if near.tag is tag]):
        return found
    pack = facts.packs.get(tag)
    cause = Cause.NO_FP4_PACK
    if tag is SlotKind.BASE:
        alone = facts.settings.planes_cache and (pack is None or pack.size is None)
        cause = Cause.CACHE_NOT_PROBED if alone else Cause.INCOMPLETE
    return Miss(cause, f"there is no {want}.json in the store")


def _no_meta(facts: SkipFacts) -> Miss:
    if found := _explained(facts, [near for near in facts.neighbours if near.is_cache]):
        return found
    return Miss(Cause.INCOMPLETE, f"there is no {facts.wanted_cache.folder(facts.server)}/meta.json in the cache")


def _explained(facts: SkipFacts, nearby: Iterable[Neighbour]) -> Miss | None:
    """The most telling of the things that lie where the wanted one does not."""
    misses = [_neighbour_miss(facts, near) for near in nearby]
    order = (Cause.OTHER_MODEL, Cause.OTHER_WRITER, Cause.SERVED_PATH, Cause.CHECKPOINT_STATE, Cause.OTHER_SERVER)
    return min(misses, key=lambda miss: order.index(miss.cause), default=None)


def _neighbour_miss(facts: SkipFacts, near: Neighbour) -> Miss:
    if near.server is not facts.server:
        return Miss(Cause.OTHER_SERVER, f"it is {near.server}, this server reads {facts.server} only")
    if (near.world, near.rank) != (facts.geometry.tp, facts.rank):
        found = f"rank {near.rank} of {near.world}"
        return Miss(Cause.OTHER_WRITER, f"it is for {found}, this is rank {facts.rank} of {facts.geometry.tp}")
    if near.ckpt_id != facts.ckpt_id:
        return _ckpt_miss(facts, near.ckpt_id)
    return _settings_miss(facts, near)


def _settings_miss(facts: SkipFacts, near: Neighbour) -> Miss:
    """The ids agree, so a setting that the name is made from does not."""
    settings = facts.settings
    if near.split is not None and near.split != settings.split:
        found, here = ("on", "off") if near.split else ("off", "on")
        return Miss(Cause.OTHER_WRITER, f"it was written with VLLM_MOE_W2_DELTA_SPLIT {found}, here it is {here}")
    if near.zero_mode != settings.zero_mode:
        return Miss(Cause.OTHER_WRITER, f"its zero mode is {near.zero_mode}, here it is {settings.zero_mode}")
    want = facts.main_layers + 1
    if not near.is_cache and near.n_layers != want:
        return Miss(Cause.OTHER_MODEL, f"its rows are for n_layers {near.n_layers}, this boot needs {want}")
    return Miss(Cause.OTHER_MODEL, "its experts have another number or size, or another quantizer made it")


def _ckpt_miss(facts: SkipFacts, found: object) -> Miss:
    ids = f"it has the id {found}, this server computes {facts.ckpt_id}"
    if found is None:
        ids = f"it has no ckpt_id at all, this server computes {facts.ckpt_id}"
    if facts.server is ServerVersion.V2:
        return Miss(Cause.CHECKPOINT_STATE, ids)
    known = facts.known_models.get(found) if isinstance(found, str) else None
    hint = f"it was made for {known!r}, this boot serves {facts.model!r}" if known else f"{ids} for {facts.model!r}"
    return Miss(Cause.SERVED_PATH, hint)


def _sidecar_differs(facts: SkipFacts, tag: SlotKind, gate: Gate) -> Miss:
    sidecar, want = facts.packs[tag].sidecar, facts.wanted_pack(tag).shape
    for field in _MODEL_FIELDS:
        if field in gate.failed:
            return Miss(Cause.OTHER_MODEL, f"the {tag} pack's sidecar has {field}={sidecar.get(field)!r}")
    if "ckpt_id" in gate.failed:
        return _ckpt_miss(facts, sidecar.get("ckpt_id"))
    if "zero_mode" in gate.failed:
        found = sidecar.get("zero_mode")
        return Miss(Cause.OTHER_WRITER, f"its zero mode is {found}, here it is {facts.settings.zero_mode}")
    if "layers" in gate.failed:
        return Miss(Cause.INCOMPLETE, f"the {tag} pack's list of layers is not one of distinct layer numbers")
    size = facts.packs[tag].size
    seen = "is missing" if size is None else f"has {size} bytes"
    return Miss(Cause.INCOMPLETE, f"the {tag} pack file {seen}, expected exactly {want.file_bytes}")


def _meta_differs(facts: SkipFacts, meta: JsonFile) -> Miss:
    want = facts.wanted_cache.meta(facts.server)
    differing = [key for key in want if meta.get(key) != want[key] or key not in meta.value]
    if "ckpt_id" in differing:
        return _ckpt_miss(facts, meta.get("ckpt_id"))
    for key in _WRITER_FIELDS:
        if key in differing:
            return Miss(Cause.OTHER_WRITER, f"its {key} is {meta.get(key)!r}, here it is {want[key]!r}")
    if differing:
        key = differing[0]
        return Miss(Cause.OTHER_MODEL, f"meta.json has {key}={meta.get(key)!r}, expected {want[key]!r}")
    extra = ", ".join(sorted(set(meta.value) - set(want)))
    return Miss(Cause.INCOMPLETE, f"meta.json was edited: it has the extra keys {extra}, and must be equal key for key")


def _tier_words(facts: SkipFacts) -> str:
    settings = facts.settings
    if not settings.delta_is_set:
        return "VLLM_MOE_W2_DELTA_GB is unset, which means 2.0"
    return "VLLM_MOE_W2_DELTA_GB=" + ("auto" if settings.delta.auto else f"{settings.delta.size_gib:g}")


def _parts_words(facts: SkipFacts, layer: int, missing: tuple[str, ...]) -> str:
    parts = facts.cache.parts if facts.cache else {}
    words: list[str] = []
    for part in missing:
        name = part_name(layer, part)
        seen = "is missing" if name not in parts else f"has {parts[name]} bytes instead of {facts.part_sizes[part]}"
        words.append(f"{name} {seen}")
    return ", ".join(words)
