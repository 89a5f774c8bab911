"""One scenario for each of the fifteen silent causes of planes.md f.4, and for the plain ones."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.planes.loader_skip import forecast
from moet_boot.planes.path_map import PathMap
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause, Miss
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from testing.skip_cases import CHECKPOINT, Tree, apply, make_tree

V1, V2 = ServerVersion.V1, ServerVersion.V2
Change = Callable[[Tree], SkipRequest]


def with_env(**env: str) -> Change:
    return lambda tree: tree.request(tree.env(**env))


def without(variable: str, **env: str) -> Change:
    def change(tree: Tree) -> SkipRequest:
        full = tree.env(**env)
        del full[f"VLLM_MOE_W2{variable}"]
        return tree.request(full)

    return change


def after(*operation: object, **env: str) -> Change:
    def change(tree: Tree) -> SkipRequest:
        apply(tree, operation)
        return tree.request(tree.env(**env))

    return change


def served_as(model: str, **env: str) -> Change:
    return lambda tree: tree.request(tree.env(**env), model)


def of_the_other_server(tree: Tree) -> SkipRequest:
    other = make_tree(tree.root.parent / "other", V2 if tree.server is V1 else V1)
    shutil.rmtree(tree.cache)
    other.cache.rename(tree.cache)
    return tree.request(tree.env(DELTA_GB="0"))


def hub_id(tree: Tree) -> SkipRequest:
    env = tree.env(DELTA_GB="0")
    env.pop("VLLM_MOE_W2_CKPT_ID")
    return tree.request(env, "deepseek-ai/DeepSeek-V4-Flash")


def copied_checkpoint(tree: Tree) -> SkipRequest:
    env = tree.env(DELTA_GB="0")
    env.pop("VLLM_MOE_W2_CKPT_ID")
    return tree.request(env)


def fp8_experts(tree: Tree) -> SkipRequest:
    model = tree.root / "model"
    model.mkdir()
    config = (CHECKPOINT / "config.json").read_text().replace('"fp4"', '"fp8"')
    (model / "config.json").write_text(config)
    return SkipRequest(tree.env(DELTA_GB="0"), model, "/model", tree.server)


def unmounted(tree: Tree) -> SkipRequest:
    return tree.request(tree.env(DELTA_GB="0"), mounts=PathMap.parse([f"/elsewhere={tree.root}"]))


def unreadable(tree: Tree) -> SkipRequest:
    shutil.rmtree(tree.cache)
    tree.cache.write_text("a file where a folder should be")
    return tree.request(tree.env(DELTA_GB="0"))


SCENARIOS = [
    pytest.param(V1, with_env(), Cause.FP4_PARTS, "unset, which means 2.0", id="2 delta unset"),
    pytest.param(V1, with_env(DELTA_GB="6"), Cause.FP4_PARTS, "DELTA_GB=6", id="2 delta set"),
    pytest.param(V2, with_env(DELTA_GB="auto"), Cause.FP4_PARTS, "DELTA_GB=auto", id="2 delta auto"),
    pytest.param(V1, without("_PLANES_CACHE", DELTA_GB="0"), Cause.PACKS_NOT_PROBED, "not probed", id="3 packs"),
    pytest.param(V1, without("_STORE_DIR", BASE_CACHE_GB="1"), Cause.CACHE_NOT_PROBED, "only packs", id="4 no store"),
    pytest.param(V1, served_as("/model/", DELTA_GB="0"), Cause.SERVED_PATH, "made for '/model'", id="5 slash"),
    pytest.param(
        V1,
        served_as("deepseek-ai/DeepSeek-V4-Flash", DELTA_GB="0"),
        Cause.SERVED_PATH,
        "made for '/model'",
        id="5 hub id",
    ),
    pytest.param(V2, copied_checkpoint, Cause.CHECKPOINT_STATE, "has the id golden-checkpoint-id", id="6 copied"),
    pytest.param(V2, with_env(DELTA_GB="0", CKPT_ID="mine"), Cause.CHECKPOINT_STATE, "computes mine", id="6 other id"),
    pytest.param(V1, of_the_other_server, Cause.OTHER_SERVER, "it is v2, this server reads v1", id="7 v2 for v1"),
    pytest.param(V2, of_the_other_server, Cause.OTHER_SERVER, "it is v1, this server reads v2", id="7 v1 for v2"),
    pytest.param(
        V1, with_env(DELTA_GB="0", ZERO_MODE="alt"), Cause.OTHER_WRITER, "here it is 'alt'", id="8 zero mode v1"
    ),
    pytest.param(
        V2, with_env(DELTA_GB="0", ZERO_MODE="alt"), Cause.OTHER_WRITER, "here it is alt", id="8 zero mode v2"
    ),
    pytest.param(V1, with_env(DELTA_GB="0", DELTA_SPLIT="1"), Cause.OTHER_WRITER, "fp4_split", id="8 split v1"),
    pytest.param(V2, with_env(DELTA_GB="0", DELTA_SPLIT="1"), Cause.OTHER_WRITER, "DELTA_SPLIT off", id="8 split v2"),
    pytest.param(V1, after("rename_rank", "tp2-rank1", DELTA_GB="0"), Cause.OTHER_WRITER, "rank 1 of 2", id="8 rank"),
    pytest.param(
        V1, after("delete", "part:0.sc13", DELTA_GB="0"), Cause.INCOMPLETE, "layer0.sc13.bin is missing", id="9 part"
    ),
    pytest.param(V1, after("append", "part:0.sc13", 5, DELTA_GB="0"), Cause.INCOMPLETE, "8197 bytes", id="9 size"),
    pytest.param(
        V1, after("json_set", "meta", "note", 1, DELTA_GB="0"), Cause.INCOMPLETE, "extra keys note", id="9 edited"
    ),
    pytest.param(V1, after("delete", "meta", DELTA_GB="0"), Cause.INCOMPLETE, "meta.json", id="9 no meta"),
    pytest.param(
        V2, after("layers", "base_json", [1], BASE_CACHE_GB="1"), Cause.INCOMPLETE, "list layer 0", id="9 unlisted"
    ),
    pytest.param(V2, after("delete", "base_pack", BASE_CACHE_GB="1"), Cause.INCOMPLETE, "is missing", id="9 no pack"),
    pytest.param(
        V1,
        after("layers", "fp4_json", [1], BASE_CACHE_GB="1", DELTA_GB="1"),
        Cause.NO_FP4_PACK,
        "layer 0",
        id="10 unlisted",
    ),
    pytest.param(
        V1,
        after("delete", "fp4_json", BASE_CACHE_GB="1", DELTA_GB="1"),
        Cause.NO_FP4_PACK,
        "fp4.rank0of1",
        id="10 none",
    ),
    pytest.param(V1, with_env(DELTA_GB="0", NUM_LAYERS="0"), Cause.NUM_LAYERS, "NUM_LAYERS=0", id="11 layers"),
    pytest.param(V1, fp8_experts, Cause.FP8_EXPERTS, "'fp8'", id="12 fp8"),
    pytest.param(V1, unmounted, Cause.FOLDER, "not under any mount", id="13 not mounted"),
    pytest.param(V1, unreadable, Cause.FOLDER, "cannot be read", id="13 no folder"),
    pytest.param(V1, with_env(DELTA_GB="0", PLANES_CACHE="/nowhere"), Cause.FOLDER, "does not exist", id="13 missing"),
    pytest.param(V1, after("text", "meta", "{", DELTA_GB="0"), Cause.PROBE_FAILED, "not JSON", id="14 meta"),
    pytest.param(
        V1, after("text", "base_json", "[]", BASE_CACHE_GB="1"), Cause.PROBE_FAILED, "not an object", id="14 list"
    ),
    pytest.param(V2, hub_id, Cause.NO_REVISION, "no local folder", id="15 hub id"),
    pytest.param(V1, without("", DELTA_GB="0"), Cause.MASTER_OFF, "exactly 1", id="1 unset"),
    pytest.param(
        V1, lambda tree: tree.request(tree.env() | {"VLLM_MOE_W2": "true"}), Cause.MASTER_OFF, "exactly 1", id="1 true"
    ),
    pytest.param(
        V1, after("json_set", "base_json", "E", 5, BASE_CACHE_GB="1"), Cause.OTHER_MODEL, "E=5", id="other model"
    ),
    pytest.param(V2, with_env(BASE_CACHE_GB="1", NUM_LAYERS="3"), Cause.OTHER_MODEL, "needs 4", id="other n_layers"),
    pytest.param(V2, with_env(DELTA_GB="0", EXL3_BASE="1"), Cause.EXL3, "EXL3_BASE=1", id="exl3"),
]


@pytest.mark.parametrize(("server", "change", "cause", "words"), SCENARIOS)
def test_each_cause_is_found_and_explained(
    server: ServerVersion, change: Change, cause: Cause, words: str, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path / "tree", server)
    if cause is Cause.FP4_PARTS:
        apply(tree, ["del_fp4"])
    layer = forecast(read_skip_facts(change(tree))).layers[0]
    assert not layer.skip
    assert layer.cause is cause
    assert words in (layer.reason or "")
    assert layer.fix == Miss(cause, "").fix


def test_a_base_cache_without_any_store(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    env = {"VLLM_MOE_W2": "1", "VLLM_MOE_W2_BASE_CACHE_GB": "1"}
    assert {layer.cause for layer in forecast(read_skip_facts(tree.request(env))).layers} == {Cause.NO_STORE}


def test_every_cause_has_a_scenario() -> None:
    seen = {scenario.values[2] for scenario in SCENARIOS}
    assert seen | {Cause.NO_STORE} == set(Cause)


def test_every_cause_has_its_own_words_and_its_own_remedy() -> None:
    misses = [Miss(cause, "what was seen") for cause in Cause]
    assert len({miss.reason for miss in misses}) == len(Cause)
    assert len({miss.fix for miss in misses}) == len(Cause)
    assert all("what was seen" in miss.reason for miss in misses)
