import os
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, UsageError
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.hole_layers import file_holes, layers_with_holes
from moet_boot.planes.holes import Hole
from moet_boot.planes.json_file import FileState, read_json
from moet_boot.planes.loader_skip import Verdict, forecast
from moet_boot.planes.model_config import read_model_config
from moet_boot.planes.path_map import PathMap
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_facts import FolderState
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from moet_boot.planes.store_scan import find_caches, find_packs
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


@pytest.mark.parametrize(
    ("mounts", "path", "host"),
    [
        ([], "/model", "/model"),
        (["/a=/x"], "/a/b", "/x/b"),
        (["/a=/x"], "/a", "/x"),
        (["/a=/x"], "/ab", None),
        (["/a=/x", "/a/b=/y"], "/a/b/c", "/y/c"),
        (["/a/=/x/"], "/a/b/", "/x/b"),
        (["/=/root"], "/store", "/root/store"),
        (["/a=/x=y"], "/a", "/x=y"),
    ],
)
def test_the_longest_mount_wins(mounts: list[str], path: str, host: str | None) -> None:
    found = PathMap.parse(mounts).host(path)
    assert found == (None if host is None else Path(host))


@pytest.mark.parametrize("text", ["", "/a", "=/x", "/a=", "a=/x"])
def test_a_mount_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="CONTAINER=HOST"):
        PathMap.parse([text])


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


def test_holes_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(12288)
    assert file_holes(path) == [Hole(4096, 12288)]
    assert layers_with_holes(path, 4096, frozenset({0, 2})) == (2,)
    path.write_bytes(b"x" * 8192)
    assert file_holes(path) == []
    path.write_bytes(b"")
    assert file_holes(path) == []


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


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_broken_config_is_damaged(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ArtefactDamagedError, match=r"config\.json"):
        read_model_config(tmp_path)


def test_a_nested_text_config_counts(tmp_path: Path) -> None:
    inner = (CHECKPOINT / "config.json").read_text()
    (tmp_path / "config.json").write_text(f'{{"num_hidden_layers": 99, "text_config": {inner}}}')
    config = read_model_config(tmp_path)
    assert (config.geometry.n_layers, config.expert_dtype) == (2, "fp4")


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"{}", FileState.FOUND),
        (b"{", FileState.NOT_JSON),
        (b"\xff\xfe\x00", FileState.NOT_JSON),
        (None, FileState.MISSING),
    ],
)
def test_json_files(content: bytes | None, state: FileState, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    assert read_json(path).state is state


def test_json_that_is_no_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_json(tmp_path / "pipe").state is FileState.UNREADABLE
    assert read_json(tmp_path).state is FileState.UNREADABLE
    (tmp_path / "deep.json").write_text("[" * 200_000)
    assert read_json(tmp_path / "deep.json").state is FileState.NOT_JSON


@pytest.mark.parametrize("server", ServerVersion)
def test_a_scan_finds_what_lies_in_a_store(server: ServerVersion, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", server)
    (tree.store / "pool-heat.base.rank0of1.json").write_text('{"meta": {}, "owners": []}')
    (tree.store / "notes.json").write_text("{}")
    (tree.store / "base.rank1of2.json.tmp").write_text("{}")
    packs = find_packs(tree.store)
    assert [(pack.tag, pack.server, pack.world, pack.rank) for pack in packs] == [
        ("base", server, 1, 0),
        ("fp4", server, 1, 0),
    ]
    assert all(pack.pack_path.is_file() for pack in packs)
    (cache,) = find_caches(tree.cache)
    assert (cache.server, cache.world, cache.rank) == (server, 1, 0)


def test_a_heat_list_is_no_sidecar(tmp_path: Path) -> None:
    (tmp_path / "base.rank0of1.json").write_text('{"version": 1, "keys": [[0, 1]]}')
    assert find_packs(tmp_path) == []
