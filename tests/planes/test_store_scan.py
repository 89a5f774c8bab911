from pathlib import Path

import pytest

from moet_boot.planes.json_file import FileState
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.store_scan import describe_cache, describe_pack, find_caches, find_packs
from testing.skip_cases import make_tree


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


@pytest.mark.parametrize("name", ["base.rank0of1.pack", "delta.v2.0123456789abcdef0123.rank3of8.pack"])
def test_a_pack_without_its_sidecar_is_still_found(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    (found,) = find_packs(tmp_path)
    assert found.sidecar.state is FileState.MISSING
    assert found.pack_path.name == name


@pytest.mark.parametrize(
    "name", ["notes.json", "base.rank0.json", "base.v2.xyz.rank0of1.json", "pool-heat.base.rank0of1.json"]
)
def test_names_that_are_no_packs(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"slot_bytes": 1, "layers": []}')
    assert describe_pack(tmp_path / name) is None


@pytest.mark.parametrize("name", ["tp1", "tp1-rank0.tmp-moet-boot", "rank0", "v2"])
def test_names_that_are_no_caches(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    assert describe_cache(tmp_path / name) is None
    assert find_caches(tmp_path) == []
