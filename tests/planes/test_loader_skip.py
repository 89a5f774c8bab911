from pathlib import Path
from typing import Any

import pytest

from moet_boot.planes.geometry import DS4_FLASH, Geometry, SlotKind
from moet_boot.planes.loader_skip import (
    LayerForecast,
    Source,
    Verdict,
    cache_serves,
    forecast,
    forecast_from_summary,
    is_w2_layer,
    store_accepts,
)
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.planes.skip_reader import read_skip_facts
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.units import GIB
from testing.golden import golden_json
from testing.skip_cases import CASES, apply, case_env, make_tree

V1, V2 = ServerVersion.V1, ServerVersion.V2
# what nobody can see without comparing bytes: test_contents.py looks at these two
FLIPPED_BYTES = {"P22", "C15"}


def case_facts(root: Path, server: ServerVersion, case: dict[str, Any]) -> SkipFacts:
    tree = make_tree(root / "tree", server)
    for operation in case["ops"]:
        apply(tree, operation)
    return read_skip_facts(tree.request(case_env(tree, case), case["model"]))


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['desc']}")
def test_the_golden_cases(case: dict[str, Any], server: ServerVersion, tmp_path: Path) -> None:
    facts, expected = case_facts(tmp_path, server, case), case[server]
    found = forecast(facts)
    got = {
        "is_w2": [layer.w2 for layer in found.layers],
        "probe": [layer.skip for layer in found.layers],
        "store_accepts": list(store_accepts(facts)),
        "try_load": list(cache_serves(facts)),
        "verdict": found.verdict,
    }
    assert {key: got[key] for key in expected if key in got} == {key: expected[key] for key in expected if key in got}
    if case["id"] not in FLIPPED_BYTES:
        assert bool(found.endangered) is ("danger" in expected)
    for layer in found.layers:
        assert_explained(layer)


def assert_explained(layer: LayerForecast) -> None:
    if layer.skip:
        assert layer.reason is None
        assert layer.cause is None
        assert bool(layer.fix) is bool(layer.danger)
    else:
        assert layer.cause
        assert layer.reason
        assert layer.fix
        assert layer.danger is None


def test_there_are_52_cases_for_each_server() -> None:
    assert len(CASES) == 52


@pytest.mark.parametrize(("module", "expected"), golden_json("vi_cases.json")["is_w2_layer_extra"].items())
def test_golden_module_names(module: str, *, expected: bool) -> None:
    assert is_w2_layer(module, 2) is expected


@pytest.mark.parametrize(
    ("module", "main_layers", "expected"),
    [
        ("model.layers.0.ffn.experts", 43, True),
        ("model.layers.42.ffn.experts", 43, True),
        ("model.layers.43.ffn.experts", 43, False),
        ("language_model.model.layers.3.ffn.experts", 43, True),
        ("model.layers.3.mtp.experts", 43, False),
        ("model.layers.x.ffn", 43, False),
    ],
)
def test_which_modules_take_the_2_bit_path(module: str, main_layers: int, *, expected: bool) -> None:
    assert is_w2_layer(module, main_layers) is expected
    assert not is_w2_layer(module, main_layers, enabled=False)


def settings(server: ServerVersion = V1, /, **env: str) -> W2Settings:
    return W2Settings.from_env(
        {"VLLM_MOE_W2": "1"} | {f"VLLM_MOE_W2_{name}": value for name, value in env.items()}, server
    )


CONFIG_A = {"PLANES_CACHE": "/planescache", "STORE_DIR": "/store", "DELTA_GB": "6", "GATE": "1"}
CONFIG_B = {"PLANES_CACHE": "/planescache", "DELTA_GB": "0"}


@pytest.mark.parametrize("server", ServerVersion)
def test_summary_of_complete_caches(server: ServerVersion) -> None:
    found = forecast_from_summary(settings(server, **CONFIG_A), DS4_FLASH, planes_cache=True, pack_store=True)
    assert found.verdict is Verdict.HIT
    assert {layer.source for layer in found.layers} == {Source.CACHE}
    assert found.memory.host_transient_bytes == 4.6875 * GIB
    assert found.memory.resident_store_bytes == 0
    assert found.memory.gpu_layer_bytes == 3.1875 * GIB


def test_summary_without_caches_stages_every_layer() -> None:
    found = forecast_from_summary(settings(V1, **CONFIG_A), DS4_FLASH, planes_cache=False, pack_store=False)
    assert found.verdict is Verdict.MISS
    assert len(found.missed) == 43
    assert found.memory.host_transient_bytes == 137.0625 * GIB
    assert found.memory.resident_store_bytes == 3 * GIB  # the buffer of the delta pack that is being written
    assert {layer.cause for layer in found.layers} == {Cause.INCOMPLETE}


def test_summary_of_configuration_b_needs_no_store() -> None:
    found = forecast_from_summary(settings(V1, **CONFIG_B), DS4_FLASH, planes_cache=True, pack_store=False)
    assert found.verdict is Verdict.HIT
    assert found.memory.host_transient_bytes == 1.6875 * GIB
    assert found.memory.resident_store_bytes == 0


def test_summary_of_a_base_cache_looks_at_the_store() -> None:
    over_base = settings(STORE_DIR="/store", BASE_CACHE_GB="6")
    found = forecast_from_summary(over_base, DS4_FLASH, planes_cache=False, pack_store=True)
    assert found.verdict is Verdict.HIT
    assert found.memory.host_transient_bytes == 0
    missed = forecast_from_summary(over_base, DS4_FLASH, planes_cache=True, pack_store=False)
    assert missed.verdict is Verdict.MISS
    assert missed.memory.resident_store_bytes == 1.6875 * GIB


@pytest.mark.parametrize(
    ("env", "cause"),
    [
        pytest.param({"DELTA_GB": "0"}, Cause.FOLDER, id="no cache at all"),
        pytest.param({"BASE_CACHE_GB": "6"}, Cause.NO_STORE, id="no store at all"),
        pytest.param({**CONFIG_B, "NUM_LAYERS": "0"}, Cause.NUM_LAYERS, id="no layers"),
    ],
)
def test_summary_of_what_is_not_configured(env: dict[str, str], cause: Cause) -> None:
    found = forecast_from_summary(settings(V1, **env), DS4_FLASH, planes_cache=True, pack_store=True)
    assert {layer.cause for layer in found.layers} == {cause}


def test_the_master_switch_off_stages_nothing() -> None:
    off = W2Settings.from_env({}, V1)
    found = forecast_from_summary(off, DS4_FLASH, planes_cache=True, pack_store=True)
    assert found.verdict is Verdict.MISS
    assert found.memory.host_transient_bytes == 0
    assert found.memory.resident_store_bytes == 0
    assert found.memory.gpu_layer_bytes == 0


def test_a_pack_hit_serves_from_the_pack(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    found = forecast(read_skip_facts(tree.request(tree.env(BASE_CACHE_GB="1"))))
    assert {(layer.source, layer.served) for layer in found.layers} == {(Source.PACK, True)}
    assert found.memory.host_transient_bytes == 0


def test_a_missing_fp4_pack_still_leaves_the_base_served(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    tree.file("fp4_json").unlink()
    found = forecast(read_skip_facts(tree.request(tree.env(BASE_CACHE_GB="1", DELTA_GB="1"))))
    assert {(layer.skip, layer.source, layer.served) for layer in found.layers} == {(False, Source.PACK, True)}
    tiny = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)
    assert found.memory.write_buffer_bytes == 4 * tiny.stride_of(SlotKind.FP4)


def test_layers_that_miss_are_counted_one_by_one(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V2)
    tree.file("part:1.sc2").unlink()
    found = forecast(read_skip_facts(tree.request(tree.env(DELTA_GB="0"))))
    assert found.verdict is Verdict.PARTIAL
    one_layer = 4 * (256 * 256 + 256 * 128) * 17 // 32
    assert found.memory.staged_bytes == one_layer
    assert found.memory.cache_read_bytes == 4 * 27648
