"""Every container as a source: the same sections come out, whoever wrote them."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.open_source import open_source
from moet_boot.planes.planes_cache import part_name
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.slot_source import BASE_SECTIONS, FP4_SECTIONS, SPLIT_SECTIONS, SlotSource
from testing.fake_artefacts import make_cache, make_pack, make_plane_file
from testing.fake_planes import TINY, UNEVEN, section_bytes

V1, V2 = ServerVersion.V1, ServerVersion.V2
HALF = Geometry(n_layers=2, n_experts=2, hidden=64, inter=128, tp=2)


def assert_all_sections(source: SlotSource, geometry: Geometry) -> None:
    for layer in source.layers:
        for expert in range(geometry.n_experts):
            sections = source.slot(layer, expert, source.sections)
            for name in source.sections:
                assert bytes(sections[name]) == section_bytes(geometry, layer, expert, name)


@pytest.mark.parametrize("geometry", [TINY, UNEVEN], ids=["tiny", "uneven"])
def test_a_plane_file(geometry: Geometry, tmp_path: Path) -> None:
    with closing(open_source(make_plane_file(tmp_path / "x", geometry))) as source:
        assert (source.exact, source.geometry, source.sections) == (True, geometry, BASE_SECTIONS)
        assert (source.origin.repo, source.origin.revision) == ("fake/planes", "f" * 40)
        assert_all_sections(source, geometry)


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("kind", SlotKind)
def test_one_pack(kind: SlotKind, server: ServerVersion, tmp_path: Path) -> None:
    pack = make_pack(tmp_path / "s", kind=kind, server=server)
    with closing(open_source(pack, TINY)) as source:
        assert source.exact
        assert source.origin.server is server
        assert source.origin.ckpt_id == "id"
        assert set(source.sections) == {section.name for section in TINY.sections(kind)}
        assert_all_sections(source, TINY)


@pytest.mark.parametrize(
    ("kinds", "sections"),
    [
        pytest.param((SlotKind.FP4,), {*BASE_SECTIONS, *FP4_SECTIONS}, id="fp4"),
        pytest.param((SlotKind.FP4Q,), {*BASE_SECTIONS, *SPLIT_SECTIONS}, id="split"),
        pytest.param((SlotKind.DELTA,), {*BASE_SECTIONS, *FP4_SECTIONS}, id="delta"),
        pytest.param((SlotKind.DELTA, SlotKind.FP4Q), {*BASE_SECTIONS, *FP4_SECTIONS, *SPLIT_SECTIONS}, id="three"),
    ],
)
def test_packs_of_one_store_complete_each_other(
    kinds: tuple[SlotKind, ...], sections: set[str], tmp_path: Path
) -> None:
    for kind in (SlotKind.BASE, *kinds):
        make_pack(tmp_path / "s", kind=kind)
    with closing(open_source(tmp_path / "s")) as source:
        assert set(source.sections) == sections
        assert_all_sections(source, TINY)


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize(("fp4", "split"), [(False, False), (True, False), (True, True)], ids=["2-bit", "fp4", "split"])
def test_a_cache(fp4: bool, split: bool, server: ServerVersion, tmp_path: Path) -> None:
    make_cache(tmp_path / "c", server=server, fp4=fp4, split=split)
    with closing(open_source(tmp_path / "c", TINY)) as source:
        extra = SPLIT_SECTIONS if split else FP4_SECTIONS
        assert set(source.sections) == {*BASE_SECTIONS, *(extra if fp4 else ())}
        assert_all_sections(source, TINY)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_two(rank: int, tmp_path: Path) -> None:
    pack, cache = make_pack(tmp_path / "s", HALF, rank=rank), make_cache(tmp_path / "c", HALF, rank=rank)
    for path in (pack, cache):
        with closing(open_source(path, HALF.with_tp(1))) as source:
            assert (source.world, source.rank, source.geometry) == (2, rank, HALF)
            assert_all_sections(source, HALF)


def test_two_ranks_in_one_place_must_be_named(tmp_path: Path) -> None:
    for rank in (0, 1):
        make_pack(tmp_path / "s", HALF, rank=rank)
        make_cache(tmp_path / "c", HALF, rank=rank)
    for path in (tmp_path / "s", tmp_path / "c"):
        with pytest.raises(UsageError, match="more than one set of planes") as failure:
            open_source(path, HALF.with_tp(1))
        assert "name one" in failure.value.fix


def test_two_generations_in_one_store_must_be_named(tmp_path: Path) -> None:
    for ckpt_id in ("one", "two"):
        make_pack(tmp_path / "s", server=V2, ckpt_id=ckpt_id)
    with pytest.raises(UsageError, match="more than one set of planes"):
        open_source(tmp_path / "s")


@pytest.mark.parametrize("kind", SlotKind)
def test_a_pack_without_a_hint_has_the_right_section_sizes_all_the_same(kind: SlotKind, tmp_path: Path) -> None:
    pack = make_pack(tmp_path / "s", UNEVEN, kind)
    with closing(open_source(pack)) as source:
        assert not source.exact
        assert source.geometry.hidden * source.geometry.inter == UNEVEN.hidden * UNEVEN.inter
        assert_all_sections(source, UNEVEN)


def test_layers_that_are_there(tmp_path: Path) -> None:
    make_pack(tmp_path / "s", layers=(1,))
    make_cache(tmp_path / "c", layers=(1,))
    for path in (tmp_path / "s", tmp_path / "c"):
        with closing(open_source(path, TINY)) as source:
            assert source.layers == (1,)


def test_fp4_parts_of_some_layers_only_do_not_count(tmp_path: Path) -> None:
    folder = make_cache(tmp_path / "c", fp4=True)
    (folder / part_name(1, "fp2")).unlink()
    with closing(open_source(tmp_path / "c", TINY)) as source:
        assert source.sections == BASE_SECTIONS
        assert source.layers == (0, 1)


def test_an_empty_pack_and_an_empty_cache_hold_no_layer(tmp_path: Path) -> None:
    make_pack(tmp_path / "s", layers=())
    with pytest.raises(ArtefactDamagedError, match="no whole layer"):
        open_source(tmp_path / "s", TINY)
    folder = make_cache(tmp_path / "c")
    for layer in (0, 1):
        (folder / part_name(layer, "sc2")).unlink()
    with pytest.raises(UsageError, match="do not fit the checkpoint's geometry"):
        open_source(tmp_path / "c", TINY)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    pack, folder = make_pack(tmp_path / "s"), make_cache(tmp_path / "c")
    with closing(open_source(pack, TINY)) as source:
        os.truncate(pack, 4096)
        with pytest.raises(ArtefactDamagedError, match="layer 1 expert 2 cannot be read"):
            source.slot(1, 2, BASE_SECTIONS)
    with closing(open_source(folder, TINY)) as source:
        os.truncate(folder / part_name(1, "planes2"), 10)
        with pytest.raises(ArtefactDamagedError, match=r"layer1\.planes2\.bin: expert 2 cannot be read"):
            source.slot(1, 2, BASE_SECTIONS)


def test_a_cache_of_another_generation_is_refused(tmp_path: Path) -> None:
    folder = make_cache(tmp_path / "c")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": "tsym4-fragmajor-v0"}))
    with pytest.raises(ArtefactDamagedError, match="tsym4-fragmajor-v0"):
        open_source(tmp_path / "c", TINY)


def test_files_are_closed(tmp_path: Path) -> None:
    paths = [make_pack(tmp_path / "s"), make_cache(tmp_path / "c"), make_plane_file(tmp_path / "x")]
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in paths:
        with closing(open_source(path, TINY)) as source:
            source.slot(0, 0, ["codes13"])
            source.slot(1, 0, ["codes13"])
    assert len(list(Path("/proc/self/fd").iterdir())) == before
