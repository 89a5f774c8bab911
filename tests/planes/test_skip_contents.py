import shutil
from pathlib import Path
from typing import Any

import pytest

from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.loader_skip import forecast
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_contents import WHOLE_BELOW_BYTES, check_contents, chosen_slots
from moet_boot.planes.skip_modes import ContentsMode
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from testing.skip_cases import CASES, CHECKPOINT, Tree, apply, case_env, flip, make_tree

V1 = ServerVersion.V1


def endangered(request: SkipRequest, mode: ContentsMode = ContentsMode.SAMPLE) -> list[int]:
    facts, _ = check_contents(read_skip_facts(request), request, mode)
    return [layer.layer for layer in forecast(facts).endangered]


@pytest.mark.slow
@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_golden_cases_with_their_contents(case: dict[str, Any], server: ServerVersion, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", server)
    for operation in case["ops"]:
        apply(tree, operation)
    request = tree.request(case_env(tree, case), case["model"])
    facts, compared = check_contents(read_skip_facts(request), request, ContentsMode.SAMPLE)
    found = forecast(facts)
    assert found.verdict == case[server]["verdict"]
    assert bool(found.endangered) is ("danger" in case[server])
    assert compared.note is None
    assert compared.compared_slots == compared.all_slots


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "name", "offset", "layers"),
    [
        pytest.param({"DELTA_GB": "0"}, "part:1.planes2", 0, [1], id="cache"),
        pytest.param({"DELTA_GB": "6"}, "part:0.fp13", 70000, [0], id="FP4 part"),
        pytest.param({"DELTA_GB": "0"}, "part:0.fp13", 70000, [], id="FP4 part that nobody reads"),
        pytest.param({"BASE_CACHE_GB": "1"}, "base_pack", 28672 * 7, [1], id="pack"),
        pytest.param({"BASE_CACHE_GB": "1", "DELTA_GB": "1"}, "fp4_pack", 53248 * 3, [0], id="FP4 pack"),
        pytest.param({"BASE_CACHE_GB": "1"}, "fp4_pack", 53248 * 3, [], id="FP4 pack that nobody reads"),
        pytest.param({"BASE_CACHE_GB": "1"}, "base_pack", 28672 * 8, [], id="spare layer"),
        pytest.param({"BASE_CACHE_GB": "1"}, "base_pack", 28671, [], id="padding"),
    ],
)
@pytest.mark.parametrize("server", ServerVersion)
def test_one_wrong_bit_endangers_its_layer(
    env: dict[str, str], name: str, offset: int, layers: list[int], server: ServerVersion, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path / "tree", server)
    flip(tree.file(name), offset)
    assert endangered(tree.request(tree.env(**env))) == layers


def zeroed(tree: Tree) -> None:
    """A pack whose holes were filled with zeros by a copy."""
    path = tree.file("base_pack")
    data = bytearray(path.read_bytes())
    data[:28672] = bytes(28672)
    path.write_bytes(data)


def test_zeros_without_a_hole_are_found_too(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    zeroed(tree)
    assert endangered(tree.request(tree.env(BASE_CACHE_GB="1"))) == [0]


def test_nothing_is_compared_when_nobody_asks(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    zeroed(tree)
    request = tree.request(tree.env(BASE_CACHE_GB="1"))
    facts, compared = check_contents(read_skip_facts(request), request, ContentsMode.NONE)
    assert (compared.compared_slots, compared.note) == (0, "not asked for")
    assert forecast(facts).endangered == ()


def test_a_checkpoint_that_is_not_whole_leaves_contents_open(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    model = tmp_path / "model"
    shutil.copytree(CHECKPOINT, model)
    next(model.glob("*.safetensors")).unlink()
    request = SkipRequest(tree.env(DELTA_GB="0"), model, "/model", V1)
    facts, compared = check_contents(read_skip_facts(request), request, ContentsMode.FULL)
    assert compared.compared_slots == 0
    assert "contents not compared" in (compared.note or "")
    assert forecast(facts).verdict == "hit"


def test_a_part_that_is_a_loop_of_links_is_a_part_that_is_missing(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    part = tree.file("part:1.planes2")
    part.unlink()
    part.symlink_to(part.name)
    request = tree.request(tree.env(DELTA_GB="0"))
    facts, compared = check_contents(read_skip_facts(request), request, ContentsMode.SAMPLE)
    assert [layer.skip for layer in forecast(facts).layers] == [True, False]
    assert compared.compared_slots == 4


def test_a_small_model_is_compared_whole_and_a_big_one_by_one_slot_a_layer() -> None:
    small = chosen_slots([0, 1], 4, 208_896, ContentsMode.SAMPLE)
    assert len(small) == 8
    layers = list(range(DS4_FLASH.n_layers))
    big = chosen_slots(layers, 256, DS4_FLASH.checkpoint_expert_bytes, ContentsMode.SAMPLE)
    assert [layer for layer, _ in big] == layers
    assert len({expert for _, expert in big}) > 20
    assert big == chosen_slots(layers, 256, DS4_FLASH.checkpoint_expert_bytes, ContentsMode.SAMPLE)
    full = chosen_slots(layers, 256, DS4_FLASH.checkpoint_expert_bytes, ContentsMode.FULL)
    assert len(full) == 11_008
    assert DS4_FLASH.checkpoint_expert_bytes * 256 > WHOLE_BELOW_BYTES


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    request = tree.request(tree.env(BASE_CACHE_GB="1", DELTA_GB="1"))
    seen: list[tuple[int, int]] = []
    check_contents(read_skip_facts(request), request, ContentsMode.FULL, lambda done, total: seen.append((done, total)))
    assert len(seen) == 16
    assert seen[-1][0] == seen[-1][1]
