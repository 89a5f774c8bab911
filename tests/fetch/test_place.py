import hashlib
from pathlib import Path

import pytest
from huggingface_hub import snapshot_download

from moet_boot.errors import ArtefactDamagedError, MoetBootError
from moet_boot.fetch.hub_file import HubFile
from moet_boot.fetch.place import Place, place_of
from moet_boot.machine.revision import find_origin, incomplete_downloads
from tests.fetch.fake_hub import COMMIT, FakeHub
from tests.fetch.scene import MODEL

SMALL = HubFile("sub/config.json", 2, "9e26dfeeb6e641a33dae4961196235bdb965b21b")
LARGE = HubFile("w.bin", 2, hashlib.sha256(b"{}").hexdigest())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_of(SMALL, tmp_path / "model" / "sub" / "config.json", tmp_path / "model")


def finish(place: Place, content: bytes = b"{}") -> Path | None:
    place.prepare()
    place.part.write_bytes(content)
    return place.put()


def test_a_finished_file_moves_to_its_place(place: Place) -> None:
    assert (place.there, finish(place), place.there) == (False, None, True)
    assert place.target.read_bytes() == b"{}"
    assert not place.part.exists()


@pytest.mark.parametrize("content", [b"", b"{} "], ids=["shorter", "longer"])
def test_another_size_is_not_there(place: Place, content: bytes) -> None:
    place.prepare()
    place.target.write_bytes(content)
    assert not place.there


def test_a_folder_in_its_place_is_not_it_and_an_error(place: Place) -> None:
    place.target.mkdir(parents=True)
    assert not place.there
    (place.target / "x").touch()
    finish(place)
    assert (place.target.with_name("config.json.replaced-1") / "x").exists()


def test_a_small_file_that_was_there_is_kept(place: Place) -> None:
    place.prepare()
    for number, content in enumerate((b"first", b"second"), 1):
        place.target.write_bytes(content)
        older = finish(place)
        assert older == place.target.with_name(f"config.json.replaced-{number}")
        assert older.read_bytes() == content


def test_a_large_file_is_replaced(tmp_path: Path) -> None:
    place = place_of(LARGE, tmp_path / "w.bin", tmp_path)
    place.target.write_bytes(b"damaged")
    assert finish(place) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "w.bin"]


def test_unfinished_files_of_other_revisions_go_and_of_other_files_stay(place: Place) -> None:
    place.prepare()
    stale = place.folder / f"config.json.{'0' * 40}.incomplete"
    other = place.folder / f"config.json5.{'0' * 40}.incomplete"
    stale.touch()
    other.touch()
    finish(place)
    assert (stale.exists(), other.exists()) == (False, True)


def test_the_reader_of_a_checkpoint_sees_the_revision_and_what_is_unfinished(tmp_path: Path) -> None:
    place = place_of(LARGE, tmp_path / "w.bin", tmp_path)
    place.prepare()
    place.part.write_bytes(b"{")
    assert incomplete_downloads(tmp_path) == 1
    finish(place)
    place.record(COMMIT)
    assert incomplete_downloads(tmp_path) == 0
    assert find_origin(tmp_path).revisions == (COMMIT,)


def test_the_hubs_own_client_finds_nothing_left_to_do(fake: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    for path, content in fake.repos[MODEL].items():
        file = HubFile(path, len(content), "e" * 40)
        place = place_of(file, folder / path, folder)
        finish(place, content)
        place.record(COMMIT)
    snapshot_download(MODEL, revision=COMMIT, local_dir=folder, endpoint=fake.url)
    assert fake.file_requests() == []


def test_what_cannot_be_seen_is_an_artefact_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    place = place_of(SMALL, loop / "config.json", tmp_path)
    assert not place.there
    with pytest.raises(MoetBootError, match="cannot be written"):
        place.prepare()


def test_a_name_that_is_too_long_for_the_disk(tmp_path: Path) -> None:
    place = place_of(SMALL, tmp_path / ("n" * 300), tmp_path)
    with pytest.raises(ArtefactDamagedError, match="cannot be read"):
        assert place.there


def test_records_that_cannot_be_written(place: Place) -> None:
    place.prepare()
    (place.folder / "config.json.metadata").mkdir()
    with pytest.raises(MoetBootError, match="cannot be written"):
        place.record(COMMIT)
