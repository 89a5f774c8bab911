import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.cache_target import CacheTarget
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.planes_cache import CacheIdentity, part_name, part_sections, part_sizes
from moet_boot.planes.server_version import ServerVersion
from testing.fake_planes import TINY, UNEVEN, FakeSource, fill, section_bytes

V1, V2 = ServerVersion.V1, ServerVersion.V2


def target(
    root: Path,
    geometry: Geometry = TINY,
    server: ServerVersion = V1,
    *,
    fp4: bool = True,
    split: bool = False,
    force: bool = False,
    rank: int = 0,
) -> CacheTarget:
    identity = CacheIdentity("id", geometry.tp, rank, split=split)
    layers = tuple(range(geometry.n_layers))
    return CacheTarget(root, identity, geometry, layers, server=server, fp4=fp4, force=force)


@pytest.mark.parametrize("geometry", [TINY, UNEVEN], ids=["tiny", "uneven"])
@pytest.mark.parametrize(("fp4", "split"), [(False, False), (True, False), (True, True)], ids=["2-bit", "fp4", "split"])
def test_every_part_is_the_sections_of_all_experts_in_order(
    geometry: Geometry, fp4: bool, split: bool, tmp_path: Path
) -> None:
    (folder,) = fill(target(tmp_path, geometry, fp4=fp4, split=split), FakeSource(geometry))
    wanted = {"meta.json"}
    for layer in range(geometry.n_layers):
        for part, name in part_sections(fp4=fp4, split=split).items():
            data = (folder / part_name(layer, part)).read_bytes()
            experts = range(geometry.n_experts)
            assert data == b"".join(section_bytes(geometry, layer, expert, name) for expert in experts)
            wanted.add(part_name(layer, part))
    assert {path.name for path in folder.iterdir()} == wanted
    assert json.loads((folder / "meta.json").read_text())["fp4_split"] == ("w4q" if split else False)


@pytest.mark.parametrize("server", ServerVersion)
def test_the_folder_is_where_the_server_looks(server: ServerVersion, tmp_path: Path) -> None:
    (folder,) = fill(target(tmp_path, server=server), FakeSource())
    assert folder == tmp_path / CacheIdentity("id").folder(server)
    assert [path.name for path in tmp_path.iterdir()] == ["tp1-rank0" if server is V1 else "v2"]


def test_two_ranks_share_a_root(tmp_path: Path) -> None:
    geometry = Geometry(n_layers=1, n_experts=2, hidden=64, inter=128, tp=2)
    for rank in (0, 1):
        fill(target(tmp_path, geometry, rank=rank), FakeSource(geometry, rank=rank))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tp2-rank0", "tp2-rank1"]


def test_nothing_has_its_name_before_it_is_published(tmp_path: Path) -> None:
    writing, source = target(tmp_path), FakeSource()
    writing.claim()
    writing.start()
    for expert in range(3):
        writing.put(0, expert, source.slot(0, expert, writing.needs))
    assert [".tmp" in path.name for path in tmp_path.iterdir()] == [True]
    writing.discard()
    assert list(tmp_path.iterdir()) == []


def test_open_files_are_those_of_one_layer(tmp_path: Path) -> None:
    writing, source = target(tmp_path), FakeSource()
    writing.claim()
    writing.start()
    counts: list[int] = []
    for layer in (0, 1):
        for expert in range(3):
            writing.put(layer, expert, source.slot(layer, expert, writing.needs))
        counts.append(len(list(Path("/proc/self/fd").iterdir())))
    assert counts[0] == counts[1]
    writing.discard()


def test_what_exists_is_in_the_way_unless_forced(tmp_path: Path) -> None:
    (folder,) = fill(target(tmp_path), FakeSource())
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path).claim()
    (folder / "note").write_text("of the old one")
    fill(target(tmp_path, fp4=False, force=True), FakeSource())
    assert not (folder / "note").exists()
    assert not (folder / part_name(0, "fp13")).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["tp1-rank0"]


def test_a_file_in_the_way_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "tp1-rank0").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path, force=True).claim()


def test_the_old_cache_comes_back_when_a_replacement_stopped_half_way(tmp_path: Path) -> None:
    (folder,) = fill(target(tmp_path), FakeSource())
    folder.rename(tmp_path / "tp1-rank0.tmp-moet-boot-old")
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path).claim()
    assert (folder / "meta.json").exists()


def test_a_failed_replacement_gives_the_old_cache_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = fill(target(tmp_path), FakeSource())
    writing = target(tmp_path, force=True)
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if self.name.endswith(".tmp-moet-boot"):
            raise OSError(5, os.strerror(5))
        return rename(self, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", failing)
        with pytest.raises(Exception, match="Input/output error"):
            fill(writing, FakeSource())
        assert not folder.exists()
        writing.discard()
    assert (folder / "meta.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["tp1-rank0"]


@settings(max_examples=10, deadline=None)
@given(
    experts=st.integers(1, 4),
    hidden=st.sampled_from([64, 128, 320]),
    inter=st.sampled_from([64, 192]),
    fp4=st.booleans(),
    split=st.booleans(),
)
def test_sizes_are_as_announced(
    experts: int, hidden: int, inter: int, *, fp4: bool, split: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    geometry = Geometry(2, experts, hidden, inter)
    writing = target(tmp_path_factory.mktemp("cache"), geometry, fp4=fp4, split=split)
    (folder,) = fill(writing, FakeSource(geometry))
    sizes = part_sizes(geometry, fp4=fp4, split=split)
    found = {path.name: path.stat().st_size for path in folder.glob("layer*")}
    assert found == {part_name(layer, part): size for layer in (0, 1) for part, size in sizes.items()}
    assert writing.bytes_to_write == sum(found.values())
