import json
import shutil
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.planes.convert import convert_planes
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4
from moet_boot.planes.diff import SlotDifference, diff_planes
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.open_source import geometry_hint, open_source
from moet_boot.planes.server_version import ServerVersion
from testing.golden import GOLDEN
from testing.plane_file import FOREIGN, OWN, copy_of, flip, write_plane_file
from testing.skip_cases import CHECKPOINT, make_tree

STORE, CACHE = GOLDEN / "vi_store_v1" / "store", GOLDEN / "vi_store_v1" / "planes"
HINT = geometry_hint(CHECKPOINT)
BASE = ("codes13", "sc13", "codes2", "sc2")


@pytest.mark.parametrize(
    ("a", "b", "only"),
    [
        pytest.param(OWN, STORE, ((), ("fp13", "fp2")), id="file and store"),
        pytest.param(STORE, OWN, (("fp13", "fp2"), ()), id="store and file"),
        pytest.param(CACHE, OWN, (("fp13", "fp2"), ()), id="cache and file"),
        pytest.param(STORE, CACHE, ((), ()), id="store and cache"),
        pytest.param(STORE / "base.rank0of1.pack", CACHE, ((), ("fp13", "fp2")), id="one pack and cache"),
        pytest.param(OWN, OWN, ((), ()), id="with itself"),
    ],
)
def test_the_same_planes_in_any_two_containers(a: Path, b: Path, only: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    found = diff_planes(a, b)
    assert found.same
    assert found.slots == 8
    assert found.sections[:4] == BASE
    assert (found.only_in_a, found.only_in_b) == only


def test_a_foreign_file_needs_to_be_told_its_geometry_or_finds_it_in_the_other() -> None:
    assert diff_planes(FOREIGN["a"], CACHE, HINT).same
    assert diff_planes(FOREIGN["b"], OWN).same


@pytest.mark.parametrize("server", ServerVersion)
def test_the_servers_formats_hold_the_same_planes(server: ServerVersion, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", server)
    assert diff_planes(tree.store, CACHE).same
    assert diff_planes(tree.cache, STORE).same


@pytest.mark.parametrize(
    ("name", "offset", "expected"),
    [
        ("part:0.planes13", 17, SlotDifference(0, 0, ("codes13",))),
        ("part:1.sc2", 4095, SlotDifference(1, 3, ("sc2",))),
        ("part:1.fp13", 40000, SlotDifference(1, 1, ("fp13",))),
        ("base_pack", 28672 * 5, SlotDifference(1, 1, ("codes13",))),
        ("fp4_pack", 53248 + 34816, SlotDifference(0, 1, ("fp2",))),
    ],
)
def test_one_flipped_bit_is_found_and_named(name: str, offset: int, expected: SlotDifference, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    flip(tree.file(name), offset)
    changed, other = (tree.cache, STORE) if name.startswith("part") else (tree.store, CACHE)
    found = diff_planes(changed, other)
    assert not found.same
    assert found.differing == (expected,)


def test_the_scales_that_an_fp4_slot_repeats_must_agree(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    flip(tree.file("fp4_pack"), 53248 + 32768)
    (found,) = diff_planes(tree.store, CACHE).differing
    assert (found.layer, found.expert) == (0, 1)
    assert "another sc13 than the base pack" in (found.reason or "")


def test_every_difference_is_named(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    for layer in (0, 1):
        flip(tree.file(f"part:{layer}.planes13"), 0)
        flip(tree.file(f"part:{layer}.sc13"), 0)
    found = diff_planes(tree.cache, OWN)
    assert found.differing == (
        SlotDifference(0, 0, ("codes13", "sc13")),
        SlotDifference(1, 0, ("codes13", "sc13")),
    )


def test_a_damaged_slot_of_a_plane_file_is_a_difference_and_not_the_end(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 8192)
    found = diff_planes(path, STORE)
    assert len(found.differing) == 1
    assert "sha256" in (found.differing[0].reason or "")
    assert found.slots == 8


def test_missing_layers_are_named(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    for tag in ("base", "fp4"):
        path = tree.file(f"{tag}_json")
        path.write_text(path.read_text().replace("[0, 1]", "[0]"))
    found = diff_planes(tree.store, OWN)
    assert not found.same
    assert (found.layers_only_in_a, found.layers_only_in_b, found.slots) == ((), (1,), 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_experts": 3}, "4 experts a layer against 3"),
        ({"inter": 256}, "slots of 27648 bytes against 55296"),
        ({"hidden": 128, "inter": 256}, "hidden size 256 against 128"),
    ],
    ids=["experts", "slots", "shape"],
)
def test_other_shapes_are_not_compared(change: dict[str, int], words: str, tmp_path: Path) -> None:
    geometry = Geometry(**{"n_layers": 2, "n_experts": 4, "hidden": 256, "inter": 128, **change})
    write_plane_file(tmp_path / "other.moet2pf", geometry, seed=1)
    found = diff_planes(OWN, tmp_path / "other.moet2pf")
    assert found.shape == words
    assert not found.same
    assert found.slots == 0


def test_ranks_are_not_compared_with_each_other(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    for path in list((tmp_path / "store").iterdir()):
        path.rename(path.with_name(path.name.replace("rank0of1", "rank1of2")))
    found = diff_planes(tmp_path / "store", STORE)
    assert found.shape == "rank 1 of 2 against rank 0 of 1"


def test_packs_without_a_common_section(tmp_path: Path) -> None:
    convert_planes(ConvertRequest(STORE, Container.PACK_V1, tmp_path / "d", checkpoint=CHECKPOINT, fp4=Fp4.DELTA))
    found = diff_planes(tmp_path / "d", OWN)
    assert "no section in common" in (found.shape or "")


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError):
        diff_planes(OWN, tmp_path / "none")
    with pytest.raises(UsageError, match="does not state its own"):
        diff_planes(CACHE, CACHE)


def test_progress_counts_bytes() -> None:
    seen: list[tuple[int, int]] = []
    diff_planes(OWN, STORE, None, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (8 * 27648, 8 * 27648)
    assert len(seen) == 8


def test_a_source_reads_only_what_is_wanted(tmp_path: Path) -> None:
    source = open_source(STORE)
    try:
        sections = source.slot(1, 2, ["sc2"])
        cache = (CACHE / "tp1-rank0/layer1.sc2.bin").read_bytes()
        assert {name: bytes(view) for name, view in sections.items()} == {"sc2": cache[2048:3072]}
        assert json.loads((STORE / "base.rank0of1.json").read_text())["ckpt_id"] == source.origin.ckpt_id
    finally:
        source.close()
