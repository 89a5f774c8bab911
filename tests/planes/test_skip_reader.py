from pathlib import Path

import pytest

from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.loader_skip import Verdict, forecast
from moet_boot.planes.path_map import PathMap
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_facts import FolderState
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from testing.skip_cases import CHECKPOINT, make_tree

V1, V2 = ServerVersion.V1, ServerVersion.V2


def punch(path: Path, start: int, size: int) -> None:
    """Rewrite a file with a hole where zeros would read the same."""
    data = path.read_bytes()
    path.unlink()
    with path.open("wb") as file:
        file.write(data[:start])
        file.seek(start + size)
        file.write(data[start + size :])
        file.truncate(len(data))


def test_mounts_lead_from_the_container_to_the_host(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    env = tree.env(DELTA_GB="0") | {"VLLM_MOE_W2_PLANES_CACHE": "/planescache", "VLLM_MOE_W2_STORE_DIR": "/store/deep"}
    mounts = PathMap.parse([f"/planescache={tree.cache}", f"/store={tree.root}"])
    facts = read_skip_facts(tree.request(env, mounts=mounts))
    assert facts.cache_folder is not None
    assert (facts.cache_folder.path, facts.cache_folder.state) == ("/planescache", FolderState.THERE)
    assert facts.store is not None
    assert facts.store.state is FolderState.MISSING
    assert forecast(facts).verdict is Verdict.HIT


@pytest.mark.parametrize("server", ServerVersion)
def test_a_hole_in_a_listed_layer_is_a_danger_and_the_spare_layer_is_none(
    server: ServerVersion, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path / "tree", server)
    pack = tree.file("base_pack")
    layer_bytes = pack.stat().st_size // 3
    punch(pack, 2 * layer_bytes, layer_bytes)
    request = tree.request(tree.env(BASE_CACHE_GB="1"))
    assert forecast(read_skip_facts(request)).endangered == ()
    punch(pack, layer_bytes + 4096, 8192)
    (endangered,) = forecast(read_skip_facts(request)).endangered
    assert endangered.layer == 1
    assert endangered.skip
    assert "holes" in (endangered.danger or "")


def test_a_hole_in_a_cache_part_is_a_danger(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V2)
    punch(tree.file("part:1.planes13"), 8192, 8192)
    (endangered,) = forecast(read_skip_facts(tree.request(tree.env(DELTA_GB="0")))).endangered
    assert endangered.layer == 1


def test_a_rank_out_of_its_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rank 2"):
        read_skip_facts(SkipRequest({}, CHECKPOINT, "/model", V1, world=2, rank=2))


def test_two_ranks_look_for_their_own_files(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    facts = read_skip_facts(tree.request(tree.env(DELTA_GB="0"), world=2, rank=1))
    assert facts.wanted_cache.folder(V1) == "tp2-rank1"
    assert facts.wanted_pack(SlotKind.BASE).stem(V1, "x") == "base.x"
    assert facts.part_sizes["planes13"] == 65536 // 2
    assert forecast(facts).verdict is Verdict.MISS


def test_a_checkpoint_without_config_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError, match=r"config\.json"):
        read_skip_facts(SkipRequest({}, tmp_path, "/model", V1))
