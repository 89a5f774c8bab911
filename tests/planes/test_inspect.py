import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, UsageError
from moet_boot.planes.artefacts import PlaneFile, artefact_path, find_artefacts, single_artefact
from moet_boot.planes.description import Description
from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.inspect import inspect_planes
from moet_boot.planes.open_source import geometry_hint, open_source
from moet_boot.planes.planes_cache import CacheIdentity, part_name, part_sizes
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.store_scan import CacheFolder, PackFile
from testing.golden import GOLDEN
from testing.plane_file import FOREIGN, OWN, copy_of
from testing.skip_cases import CHECKPOINT, make_tree

V1, V2 = ServerVersion.V1, ServerVersion.V2
HINT = geometry_hint(CHECKPOINT)


def only(path: Path, hint: Geometry | None = None) -> Description:
    (found,) = inspect_planes(path, hint)
    return found


def test_a_plane_file() -> None:
    found = only(OWN)
    assert (found.kind, found.format, found.layers, found.n_experts) == ("moet2pf", "own", (0, 1), 4)
    assert (found.repo, found.revision) == ("golden/tiny-checkpoint", "0123456789abcdef0123456789abcdef01234567")
    assert found.geometry == HINT
    assert found.apparent_bytes == found.expected_bytes == OWN.stat().st_size
    assert found.whole


@pytest.mark.parametrize("letter", "abc")
def test_a_foreign_plane_file_has_no_geometry_of_its_own(letter: str) -> None:
    found = only(FOREIGN[letter])
    assert (found.format, found.geometry, found.problems) == ("foreign", None, ())
    assert "geometry is unknown" in found.notes[0]
    assert only(FOREIGN[letter], HINT).layers == (0, 1)


@pytest.mark.parametrize("server", ServerVersion)
def test_a_store_and_a_cache_of_each_server(server: ServerVersion, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", server)
    base, fp4 = inspect_planes(tree.store)
    assert [(pack.kind, pack.format, pack.tag) for pack in (base, fp4)] == [
        ("pack", server, "base"),
        ("pack", server, "fp4"),
    ]
    assert base.layers == fp4.layers == (0, 1)
    assert (base.n_layers, base.n_experts, base.slot_bytes, base.stride) == (2, 4, 27648, 28672)
    assert base.ckpt_id
    assert base.whole
    cache = only(tree.cache)
    assert (cache.kind, cache.format, cache.layers, cache.fp4_layers) == ("planes-cache", server, (0, 1), (0, 1))
    assert cache.fp4_split is False
    assert cache.whole
    assert cache.n_layers is None
    assert only(tree.cache, HINT).n_layers == 2


def test_allocated_and_apparent_size_differ_by_the_spare_layer(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    pack = tree.file("base_pack")
    data = pack.read_bytes()
    pack.unlink()
    with pack.open("wb") as file:
        file.write(data[: 2 * len(data) // 3])
        file.truncate(len(data))
    found = only(pack)
    assert found.apparent_bytes == 344064
    assert found.allocated_bytes < 344064
    assert found.hole_layers == ()
    with pack.open("r+b") as file:
        file.truncate(4096 * 20)
        file.truncate(344064)
    assert only(pack).hole_layers == (0, 1)


Damage = Callable[[Path], object]


def rewrite(name: str, change: Callable[[dict[str, object]], object]) -> Damage:
    def damage(root: Path) -> None:
        path = root / name
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return damage


STORE_DAMAGE = [
    pytest.param(lambda root: os.truncate(root / "base.rank0of1.pack", 5), "has 5 bytes", id="short pack"),
    pytest.param(lambda root: (root / "base.rank0of1.pack").unlink(), "does not exist", id="no pack"),
    pytest.param(lambda root: (root / "base.rank0of1.json").unlink(), "nothing in the pack counts", id="no sidecar"),
    pytest.param(lambda root: (root / "base.rank0of1.json").write_text("{"), "is no sidecar", id="no JSON"),
    pytest.param(rewrite("base.rank0of1.json", lambda it: it.update(version=2)), "version 2", id="version"),
    pytest.param(rewrite("base.rank0of1.json", lambda it: it.update(tag="x")), "tag 'x'", id="tag"),
    pytest.param(rewrite("base.rank0of1.json", lambda it: it.update(E="4")), "has E '4'", id="E"),
    pytest.param(rewrite("base.rank0of1.json", lambda it: it.update(slot_bytes=0)), "slot_bytes 0", id="no slot"),
    pytest.param(rewrite("base.rank0of1.json", lambda it: it.update(stride=1)), "has stride 1", id="stride"),
    pytest.param(
        rewrite("base.rank0of1.json", lambda it: it.update(layers=[0, 0])), "list of layers", id="layer twice"
    ),
    pytest.param(
        rewrite("base.rank0of1.json", lambda it: it.update(slot_bytes=27649, stride=28672)),
        "no geometry gives",
        id="odd slot",
    ),
]


@pytest.mark.parametrize(("damage", "words"), STORE_DAMAGE)
def test_a_damaged_pack_is_described_and_not_opened(damage: Damage, words: str, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    damage(tree.store)
    base = next(found for found in inspect_planes(tree.store) if found.tag == "base")
    assert words in base.problems[0]
    assert not base.whole
    with pytest.raises((ArtefactDamagedError, ArtefactMissingError), match=words.replace("(", r"\(")):
        open_source(tree.store)


CACHE_DAMAGE = [
    pytest.param(lambda root: (root / "meta.json").unlink(), "meta.json cannot be used", id="no meta"),
    pytest.param(lambda root: (root / "meta.json").write_text("["), "meta.json cannot be used", id="no JSON"),
    pytest.param(rewrite("meta.json", lambda it: it.update(version="x")), "version 'x'", id="version"),
    pytest.param(rewrite("meta.json", lambda it: it.update(world=2)), "another rank", id="other rank"),
    pytest.param(rewrite("meta.json", lambda it: it.update(ckpt_id=None)), "no ckpt_id", id="no id"),
    pytest.param(lambda root: (root / "layer1.sc2.bin").unlink(), "layer1.sc2.bin is missing", id="no part"),
    pytest.param(lambda root: os.truncate(root / "layer1.sc2.bin", 9), "has 9 bytes, expected 4096", id="short part"),
    pytest.param(
        lambda root: os.truncate(root / "layer1.fp2.bin", 9), "has 9 bytes, expected 65536", id="short FP4 part"
    ),
]


@pytest.mark.parametrize(("damage", "words"), CACHE_DAMAGE)
@pytest.mark.parametrize("hint", [None, HINT], ids=["guessed", "known"])
def test_a_damaged_cache_is_described(damage: Damage, words: str, hint: Geometry | None, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    damage(tree.cache / "tp1-rank0")
    found = only(tree.cache, hint)
    assert any(words in problem for problem in found.problems)
    assert not found.whole


def test_a_cache_of_the_real_model_is_recognised_without_a_hint(tmp_path: Path) -> None:
    rank = tmp_path / "tp1-rank0"
    rank.mkdir()
    (rank / "meta.json").write_text(CacheIdentity("id").meta_text(V1))
    for part, size in part_sizes(DS4_FLASH, fp4=False).items():
        with (rank / part_name(7, part)).open("wb") as file:
            file.truncate(size)
    found = only(tmp_path)
    assert (found.geometry, found.layers, found.n_layers) == (DS4_FLASH, (7,), 43)
    assert found.hole_layers == (7,)
    assert len(found.missing_layers) == 42


def test_a_truncated_plane_file(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    os.truncate(path, path.stat().st_size - 4096)
    found = only(path)
    assert any("truncated" in problem for problem in found.problems)
    assert found.layers == ()


def test_a_hole_in_a_plane_file(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    data = path.read_bytes()
    path.unlink()
    with path.open("wb") as file:
        file.write(data[:-28672])
        file.truncate(len(data))
    assert only(path).hole_layers == (1,)


def test_a_folder_with_everything(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    copy_of(OWN, tree.store)
    (tree.cache / "tp1-rank0").rename(tree.store / "tp1-rank0")
    kinds = [type(found) for found in find_artefacts(tree.store)]
    assert kinds == [PlaneFile, PackFile, PackFile, CacheFolder]
    with pytest.raises(UsageError, match="more than one set of planes"):
        single_artefact(tree.store)


@pytest.mark.parametrize(
    "name",
    ["store/base.rank0of1.pack", "store/base.rank0of1.json", "planes/tp1-rank0", "planes/tp1-rank0/meta.json"],
)
def test_a_file_stands_for_its_artefact(name: str, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    (found,) = single_artefact(tree.root / name)
    assert artefact_path(found).exists()


def test_packs_of_two_checkpoints_are_not_mixed(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    rewrite("fp4.rank0of1.json", lambda it: it.update(ckpt_id="other"))(tree.store)
    with pytest.raises(UsageError, match=r"fp4\.rank0of1\.pack"):
        open_source(tree.store)


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.mkdir(), lambda path: path.write_text("x"), lambda path: None]
)
def test_what_is_no_artefact_is_one_clear_error(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "it")
    with pytest.raises((ArtefactDamagedError, ArtefactMissingError)) as failure:
        inspect_planes(tmp_path / "it")
    assert str(tmp_path / "it") in failure.value.what
    assert failure.value.fix


def test_a_hint_of_another_model_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    other = Geometry(n_layers=2, n_experts=4, hidden=256, inter=256)
    assert "another model" in inspect_planes(tree.store, other)[0].problems[0]
    with pytest.raises(ArtefactDamagedError, match="another model"):
        open_source(tree.store, other)
    with pytest.raises(UsageError, match="do not fit the checkpoint's geometry"):
        open_source(tree.cache, other)


def test_split_parts_have_other_proportions(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", V1)
    folder = tree.cache / "tp1-rank0"
    rewrite("meta.json", lambda it: it.update(fp4_split="w4q"))(folder)
    assert only(tree.cache).fp4_layers == ()
    for layer in (0, 1):
        os.truncate(folder / f"layer{layer}.fp13.bin", 131072 * 5 // 8)
        os.truncate(folder / f"layer{layer}.fp2.bin", 65536 * 5 // 8)
    assert only(tree.cache).fp4_layers == (0, 1)


@given(text=st.text(max_size=200), name=st.sampled_from(["base.rank0of1.json", "meta.json"]))
def test_any_text_as_a_sidecar_or_meta_is_described(
    text: str, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    where = folder / "tp1-rank0" if name == "meta.json" else folder
    where.mkdir(exist_ok=True)
    (where / name).write_text(text, encoding="utf-8", errors="replace")
    try:
        found = inspect_planes(folder)
    except ArtefactDamagedError as failure:
        assert failure.fix  # noqa: PT017
    else:
        assert not any(description.whole for description in found)


def test_the_golden_store_is_left_alone() -> None:
    before = sorted(path.name for path in (GOLDEN / "vi_store_v1").rglob("*"))
    inspect_planes(GOLDEN / "vi_store_v1/store")
    assert sorted(path.name for path in (GOLDEN / "vi_store_v1").rglob("*")) == before
    assert shutil.disk_usage(GOLDEN).free > 0
