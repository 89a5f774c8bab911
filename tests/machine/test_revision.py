from pathlib import Path

import pytest

from moet_boot.machine.revision import find_origin, incomplete_downloads
from tests.machine.safetensors_files import REVISION

OTHER = "f" * 40


def test_the_hubs_cache_layout_tells_both(tmp_path: Path) -> None:
    folder = tmp_path / "models--deepseek-ai--DeepSeek-V4-Flash" / "snapshots" / REVISION
    folder.mkdir(parents=True)
    origin = find_origin(folder)
    assert (origin.repo, origin.revisions) == ("deepseek-ai/DeepSeek-V4-Flash", (REVISION,))


def test_a_snapshot_folder_of_another_name_tells_the_repository_only(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / "main"
    assert find_origin(folder).revisions == ()


def downloads(folder: Path, **revisions: str) -> Path:
    place = folder / ".cache" / "huggingface" / "download"
    place.mkdir(parents=True)
    for name, revision in revisions.items():
        (place / f"{name}.metadata").write_text(f"{revision}\netag\n1764400000.0\n")
    return place


def test_a_local_dir_download_tells_the_revision(tmp_path: Path) -> None:
    downloads(tmp_path, config=REVISION, model=REVISION)
    assert find_origin(tmp_path).revisions == (REVISION,)


def test_files_of_two_revisions_are_told_apart(tmp_path: Path) -> None:
    downloads(tmp_path, config=OTHER, model=REVISION)
    assert find_origin(tmp_path).revisions == (OTHER, REVISION)


@pytest.mark.parametrize(
    ("files", "revisions"),
    [
        pytest.param({"HEAD": "ref: refs/heads/main", "refs/heads/main": REVISION}, (REVISION,), id="branch"),
        pytest.param({"HEAD": REVISION}, (REVISION,), id="detached"),
        pytest.param({"HEAD": "ref: refs/heads/main"}, (), id="packed-reference"),
        pytest.param({}, (), id="no-clone"),
        pytest.param({"HEAD": "nonsense"}, (), id="damaged"),
    ],
)
def test_a_git_clone(tmp_path: Path, files: dict[str, str], revisions: tuple[str, ...]) -> None:
    for name, text in files.items():
        file = tmp_path / ".git" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert find_origin(tmp_path).revisions == revisions


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"short", b"0" * 39, b"z" * 40])
def test_metadata_that_is_no_revision(tmp_path: Path, content: bytes) -> None:
    (downloads(tmp_path) / "x.metadata").write_bytes(content)
    assert find_origin(tmp_path).revisions == ()


def test_pieces_of_a_download_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / REVISION
    blobs = tmp_path / "models--a--b" / "blobs"
    for place in (folder, blobs):
        place.mkdir(parents=True)
    (blobs / "abc.incomplete").touch()
    (blobs / "abc").touch()
    (folder / "model.safetensors.aria2").touch()
    (downloads(folder) / "x.hash.incomplete").touch()
    assert incomplete_downloads(folder) == 3


def test_the_blobs_of_an_unrelated_folder_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "x.incomplete").touch()
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    assert incomplete_downloads(folder) == 0
