from pathlib import Path
from typing import Any

import pytest

from moet_boot.errors import ArtefactMissingError
from moet_boot.machine.stores import MAX_PROBLEMS, read_stores, summarize
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from moet_boot.profile.model import ArtefactKind
from testing.skip_cases import CASES, Tree, apply, case_env, make_tree

LAYERS = 2
FLIPPED_BYTES = {"P22", "C15"}
"""Cases that nobody can see without comparing bytes."""


@pytest.mark.parametrize("server", ServerVersion)
def test_a_complete_cache(tmp_path: Path, server: ServerVersion) -> None:
    tree = make_tree(tmp_path / "tree", server)
    summary = read_stores(tree.request(tree.env(DELTA_GB="0"))).of(ArtefactKind.PLANES_CACHE)
    assert summary is not None
    assert (summary.present, summary.expected, summary.problems) == (LAYERS, LAYERS, ())


@pytest.mark.parametrize("server", ServerVersion)
def test_a_cache_that_lacks_a_part(tmp_path: Path, server: ServerVersion) -> None:
    tree = make_tree(tmp_path / "tree", server)
    tree.file("part:1.sc2").unlink()
    summary = read_stores(tree.request(tree.env(DELTA_GB="0"))).of(ArtefactKind.PLANES_CACHE)
    assert summary is not None
    assert (summary.present, summary.expected) == (LAYERS - 1, LAYERS)
    assert len(summary.problems) == 1


@pytest.mark.parametrize("server", ServerVersion)
def test_a_complete_pack_behind_a_base_cache(tmp_path: Path, server: ServerVersion) -> None:
    tree = make_tree(tmp_path / "tree", server)
    stores = read_stores(tree.request(tree.env(DELTA_GB="0", BASE_CACHE_GB="1")))
    pack = stores.of(ArtefactKind.PACK_STORE)
    assert pack is not None
    assert (pack.present, pack.expected) == (LAYERS, LAYERS)
    assert stores.of(ArtefactKind.PLANES_CACHE) is None


def test_a_pack_that_the_server_would_serve_as_zeros_is_a_problem(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    tree.file("base_pack").unlink()
    pack = read_stores(tree.request(tree.env(DELTA_GB="0", BASE_CACHE_GB="1"))).of(ArtefactKind.PACK_STORE)
    assert pack is not None
    assert pack.problems


def test_a_store_that_nothing_asks_for_is_left_open(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    stores = read_stores(tree.request(tree.env(DELTA_GB="0")))
    assert stores.of(ArtefactKind.PACK_STORE) is None
    assert stores.of(ArtefactKind.PLANE_FILE) is None
    assert stores.of(ArtefactKind.CHECKPOINT) is None


def pool_pack(tree: Tree, missing_bytes: int) -> SkipRequest:
    """A boot with a pool of FP4 experts, and its pack on the disk."""
    request = tree.request(tree.env(DELTA_GB="1"))
    facts = read_skip_facts(request)
    want = facts.wanted_pack(facts.settings.fp4_tag)
    stem = tree.store / want.stem(tree.server, "rank0of1")
    stem.with_name(f"{stem.name}.json").write_text(want.sidecar_text(tree.server, [0, 1]))
    stem.with_name(f"{stem.name}.pack").write_bytes(b"\7" * (want.shape.file_bytes - missing_bytes))
    return request


def test_the_pool_of_fp4_experts_has_its_pack(tmp_path: Path) -> None:
    pack = read_stores(pool_pack(make_tree(tmp_path / "tree", ServerVersion.V1), 0)).of(ArtefactKind.PACK_STORE)
    assert pack is not None
    assert (pack.present, pack.expected, pack.problems) == (LAYERS, LAYERS, ())


def test_the_pool_of_fp4_experts_lacks_its_pack(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    pack = read_stores(tree.request(tree.env(DELTA_GB="1"))).of(ArtefactKind.PACK_STORE)
    assert pack is not None
    assert (pack.present, pack.expected) == (0, LAYERS)


def test_a_checkpoint_without_a_config(tmp_path: Path) -> None:
    request = SkipRequest({"VLLM_MOE_W2": "1"}, tmp_path, "/model", ServerVersion.V1)
    with pytest.raises(ArtefactMissingError):
        read_stores(request)


def test_a_pool_pack_that_is_cut_short_is_a_problem_that_the_server_does_not_see(tmp_path: Path) -> None:
    pack = read_stores(pool_pack(make_tree(tmp_path / "tree", ServerVersion.V1), 4096)).of(ArtefactKind.PACK_STORE)
    assert pack is not None
    assert pack.present == LAYERS
    assert "short" in pack.problems[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_golden_cases(tmp_path: Path, case: dict[str, Any]) -> None:
    server = ServerVersion.V1  # the one that takes what it should not
    tree = make_tree(tmp_path / "tree", server)
    for operation in case["ops"]:
        apply(tree, operation)
    facts = read_skip_facts(tree.request(case_env(tree, case), case["model"]))
    stores, expected = summarize(facts), case[server]
    wanted = sum(expected["is_w2"])
    for summary in filter(None, (stores.planes_cache, stores.pack_store)):
        assert 0 <= summary.present <= summary.expected == wanted
        assert len(summary.problems) <= MAX_PROBLEMS
    if stores.planes_cache is not None and "try_load" in expected:
        assert stores.planes_cache.present == sum(map(min, expected["is_w2"], expected["try_load"]))
    asked = stores.pack_store if facts.settings.base_cache else stores.planes_cache
    missed = any(w2 and not skip for w2, skip in zip(expected["is_w2"], expected["probe"], strict=True))
    if asked is not None and ("danger" in expected or missed) and case["id"] not in FLIPPED_BYTES:
        assert asked.problems
