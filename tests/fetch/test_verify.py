from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.fetch.verify import check_artefact
from moet_boot.fetch.wanted import Wanted, wanted_artefacts
from moet_boot.profile.model import Artefact, ArtefactKind
from testing.golden import GOLDEN
from testing.plane_file import FOREIGN, OWN, flip
from tests.fetch.scene import CHECKPOINT, PLANE_FILE, artefact, profile_with
from tests.machine.safetensors_files import LFS_POINTER, write_checkpoint


def wanted(folder: Path, it: Artefact) -> Wanted:
    ((one,), _) = wanted_artefacts(profile_with(it=it), folder)
    return one


@pytest.fixture
def model(tmp_path: Path) -> Wanted:
    write_checkpoint(tmp_path / "model")
    return wanted(tmp_path, CHECKPOINT)


def test_a_whole_checkpoint(model: Wanted) -> None:
    assert check_artefact(model) == []


def test_a_shard_that_the_repository_itself_lacks(model: Wanted) -> None:
    (model.path / "model-00001-of-00003.safetensors").unlink()
    (model.path / "model-00003-of-00003.safetensors").unlink()
    with pytest.raises(ArtefactMissingError, match=r"does not have model-00001-of-00003\.safetensors and 1 more"):
        check_artefact(model)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("config.json", b"{}", "config.json names no model"),
        ("model.safetensors.index.json", b"[", "index.json cannot be used"),
        ("model-00002-of-00003.safetensors", LFS_POINTER.encode(), "Git LFS pointer"),
        ("model-00002-of-00003.safetensors", bytes(100), "model-00002"),
    ],
    ids=["config", "index", "pointer", "shard"],
)
def test_a_checkpoint_that_no_server_can_use(model: Wanted, name: str, content: bytes, named: str) -> None:
    (model.path / name).write_bytes(content)
    with pytest.raises(ArtefactDamagedError, match=named) as caught:
        check_artefact(model)
    assert "owner/model" in caught.value.what


def test_files_of_two_revisions_do_not_belong_together(model: Wanted) -> None:
    records = model.path / ".cache/huggingface/download"
    records.mkdir(parents=True)
    for name, commit in (("a", "1" * 40), ("b", "2" * 40)):
        (records / f"{name}.metadata").write_text(f"{commit}\netag\n1.0\n")
    with pytest.raises(ArtefactDamagedError, match="2 revisions") as caught:
        check_artefact(model)
    assert "empty folder" in caught.value.fix


def test_unfinished_files_of_others_are_worth_a_remark(model: Wanted) -> None:
    (model.path / "x.incomplete").touch()
    (note,) = check_artefact(model)
    assert note.startswith("1 unfinished")


@pytest.mark.parametrize("source", [OWN, *FOREIGN.values()], ids=lambda path: path.stem)
def test_a_plane_file(tmp_path: Path, source: Path) -> None:
    (tmp_path / "planes.moet2pf").write_bytes(source.read_bytes())
    assert check_artefact(wanted(tmp_path, PLANE_FILE)) == []


def test_a_plane_file_with_a_damaged_header(tmp_path: Path) -> None:
    planes = tmp_path / "planes.moet2pf"
    planes.write_bytes(OWN.read_bytes())
    flip(planes, 100)
    with pytest.raises(ArtefactDamagedError, match="cannot be used"):
        check_artefact(wanted(tmp_path, PLANE_FILE))


@pytest.mark.parametrize("content", [b"", b"<html>", bytes(8192)], ids=["empty", "page", "zeros"])
def test_something_else_than_a_plane_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "planes.moet2pf").write_bytes(content)
    with pytest.raises(ArtefactDamagedError):
        check_artefact(wanted(tmp_path, PLANE_FILE))


@pytest.mark.parametrize(
    ("kind", "golden"),
    [(ArtefactKind.PLANES_CACHE, "planes"), (ArtefactKind.PACK_STORE, "store")],
    ids=["cache", "store"],
)
def test_stores(tmp_path: Path, kind: ArtefactKind, golden: str) -> None:
    (tmp_path / golden).symlink_to(GOLDEN / "vi_store_v1" / golden)
    assert check_artefact(wanted(tmp_path, artefact(kind, f"/x/{golden}", "o/r"))) == []


def test_a_store_with_nothing_that_a_server_reads(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/README.md").touch()
    with pytest.raises(ArtefactDamagedError, match="holds no plane file, no pack and no planes cache"):
        check_artefact(wanted(tmp_path, artefact(ArtefactKind.PACK_STORE, "/x/store", "o/r")))
