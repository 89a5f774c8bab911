"""Pure: dangers out of facts, without a disk."""

from typing import Any

import pytest

from moet_boot.planes.geometry import DS4_FLASH, Geometry, SlotKind
from moet_boot.planes.json_file import FileState, JsonFile
from moet_boot.planes.loader_skip import Verdict, forecast
from moet_boot.planes.pack_gates import PackFacts
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.planes_cache import CacheFacts, CacheIdentity, part_name, part_sizes
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_facts import Folder, FolderState, SkipFacts
from moet_boot.planes.w2_settings import W2Settings

V1, V2 = ServerVersion.V1, ServerVersion.V2
TINY = Geometry(n_layers=3, n_experts=2, hidden=64, inter=64)
SHAPE = PackShape.of(TINY, SlotKind.BASE)
THERE = Folder("/store", FolderState.THERE)


def base_facts(server: ServerVersion = V1, size: int | None = SHAPE.file_bytes, **changes: Any) -> SkipFacts:
    """A boot from a base pack with all three layers; `changes` go to the pack's facts."""
    env = {"VLLM_MOE_W2": "1", "VLLM_MOE_W2_BASE_CACHE_GB": "1", "VLLM_MOE_W2_STORE_DIR": "/store"}
    sidecar = JsonFile(FileState.FOUND, _sidecar(server))
    pack = PackFacts(sidecar, size, **changes)
    settings = W2Settings.from_env(env, server)
    return SkipFacts(settings, TINY, "/model", "id", store=THERE, packs={SlotKind.BASE: pack})


def _sidecar(server: ServerVersion) -> dict[str, Any]:
    import json

    text = PackIdentity(SHAPE, "id").sidecar_text(server, [0, 1, 2])
    value: dict[str, Any] = json.loads(text)
    return value


def cache_facts(**changes: Any) -> SkipFacts:
    """A boot from a 2-bit cache of the real model with all 43 layers."""
    env = {"VLLM_MOE_W2": "1", "VLLM_MOE_W2_DELTA_GB": "0", "VLLM_MOE_W2_PLANES_CACHE": "/cache"}
    sizes = part_sizes(DS4_FLASH, fp4=False)
    parts = {part_name(layer, part): size for layer in range(43) for part, size in sizes.items()}
    cache = CacheFacts(JsonFile(FileState.FOUND, CacheIdentity("id").meta(V1)), parts, **changes)
    settings = W2Settings.from_env(env, V1)
    return SkipFacts(settings, DS4_FLASH, "/model", "id", cache_folder=THERE, cache=cache)


def dangers(facts: SkipFacts) -> dict[int, str]:
    return {layer.layer: layer.danger or "" for layer in forecast(facts).endangered}


@pytest.mark.parametrize("server", ServerVersion)
def test_a_sound_pack_has_none(server: ServerVersion) -> None:
    found = forecast(base_facts(server))
    assert found.verdict is Verdict.HIT
    assert found.endangered == ()


def test_a_sound_cache_of_the_real_model_has_none() -> None:
    found = forecast(cache_facts())
    assert found.verdict is Verdict.HIT
    assert found.endangered == ()
    assert found.memory.host_transient_bytes == 1_811_939_328


@pytest.mark.parametrize("server", ServerVersion)
def test_holes_and_damage_endanger_their_layers_only(server: ServerVersion) -> None:
    found = dangers(base_facts(server, hole_layers=(0,), damaged_layers=(0, 2)))
    assert set(found) == {0, 2}
    assert "holes" in found[0]
    assert "bytes differ" in found[2]
    assert set(dangers(cache_facts(hole_layers=(7,), damaged_layers=(42,)))) == {7, 42}


@pytest.mark.parametrize(
    ("size", "words"),
    [
        pytest.param(None, ["missing", "missing", "missing"], id="no file"),
        pytest.param(0, ["zero bytes", "zero bytes", "zero bytes"], id="empty"),
        pytest.param(SHAPE.layer_bytes, ["not written or copied whole", "zero bytes", "zero bytes"], id="one layer"),
        pytest.param(
            SHAPE.layer_bytes * 2 - 1, ["not written or copied", "zero bytes", "zero bytes"], id="a byte less"
        ),
        pytest.param(SHAPE.layer_bytes * 3, ["not written or copied whole"] * 3, id="without the spare layer"),
        pytest.param(SHAPE.file_bytes + 7, ["7 bytes longer"] * 3, id="longer"),
    ],
)
def test_a_v1_server_serves_a_pack_of_any_size(size: int | None, words: list[str]) -> None:
    found = dangers(base_facts(V1, size))
    assert sorted(found) == [0, 1, 2]
    assert all(word in found[layer] for layer, word in enumerate(words))
    assert forecast(base_facts(V1, size)).verdict is Verdict.HIT


@pytest.mark.parametrize("size", [None, 0, SHAPE.file_bytes - 1, SHAPE.file_bytes + 1])
def test_a_v2_server_takes_the_exact_size_only(size: int | None) -> None:
    found = forecast(base_facts(V2, size))
    assert found.verdict is Verdict.MISS
    assert found.endangered == ()
    assert f"expected exactly {SHAPE.file_bytes}" in (found.layers[0].reason or "")


def test_every_danger_comes_with_a_remedy() -> None:
    for facts in (base_facts(size=None), base_facts(hole_layers=(1,)), cache_facts(damaged_layers=(0,))):
        assert all(layer.fix for layer in forecast(facts).endangered)


def test_a_pack_that_nobody_looked_at_is_a_miss() -> None:
    facts = base_facts()
    blind = SkipFacts(facts.settings, TINY, "/model", "id", store=THERE)
    assert forecast(blind).verdict is Verdict.MISS


def test_a_server_without_an_id_skips_nothing_from_a_cache() -> None:
    facts = cache_facts()
    nameless = SkipFacts(
        facts.settings, DS4_FLASH, "/model", None, "no id", cache_folder=THERE, cache=facts.cache, revision_missing=True
    )
    found = forecast(nameless)
    assert found.verdict is Verdict.MISS
    assert found.layers[0].cause == "no-revision"
