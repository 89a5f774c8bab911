import os
from pathlib import Path

import pytest

from moet_boot.machine.artefact_files import read_plane_file, read_store, with_layers
from moet_boot.machine.snapshot import FileFacts
from moet_boot.machine.stores import StoreSummary
from tests.machine.safetensors_files import LFS_POINTER, REVISION

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "vii_moet2pf"
OWN = GOLDEN / "tiny_own.moet2pf"


def test_a_plane_file_of_ours() -> None:
    facts = read_plane_file("plane_file", str(OWN))
    assert (facts.name, facts.path, facts.size) == ("plane_file", str(OWN), OWN.stat().st_size)
    assert (facts.exists, facts.dir, facts.header_ok, facts.format) == (True, False, True, "own")
    assert facts.pinned_revision is not None
    assert (facts.problems, facts.head) == ([], None)


def test_a_foreign_header_is_not_judged() -> None:
    facts = read_plane_file("plane_file", str(GOLDEN / "tiny_foreign_a.moet2pf"))
    assert (facts.header_ok, facts.format) == (None, "foreign")


def test_a_truncated_plane_file(tmp_path: Path) -> None:
    cut = tmp_path / "cut.moet2pf"
    cut.write_bytes(OWN.read_bytes()[:-4096])
    facts = read_plane_file("plane_file", str(cut))
    assert facts.header_ok is False
    assert "truncated" in facts.problems[0]


@pytest.mark.parametrize(
    ("content", "head"),
    [
        pytest.param(LFS_POINTER.encode(), "version https://git-lfs.github.com/spec/v1", id="lfs-pointer"),
        pytest.param(b"<html>\n<body>", "<html>", id="error-page"),
        pytest.param(b"\x00\x01\x02", None, id="not-text"),
        pytest.param(b"", None, id="empty"),
    ],
)
def test_a_file_too_small_to_be_one_shows_its_first_line(tmp_path: Path, content: bytes, head: str | None) -> None:
    (tmp_path / "p").write_bytes(content)
    facts = read_plane_file("plane_file", str(tmp_path / "p"))
    assert (facts.size, facts.head, facts.header_ok) == (len(content), head, False)
    assert facts.problems


def test_a_plane_file_that_is_not_there(tmp_path: Path) -> None:
    assert read_plane_file("plane_file", str(tmp_path / "absent")).exists is False


def test_a_folder_in_place_of_a_plane_file(tmp_path: Path) -> None:
    facts = read_plane_file("plane_file", str(tmp_path))
    assert facts.dir
    assert "a folder, expected a plane file" in facts.problems[0]


def test_a_fifo_in_place_of_a_plane_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    assert "no regular file" in read_plane_file("plane_file", str(tmp_path / "p")).problems[0]


def test_a_plane_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").write_bytes(OWN.read_bytes())

    def broken(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    facts = read_plane_file("plane_file", str(tmp_path / "p"))
    assert facts.header_ok is False
    assert "Input/output error" in facts.problems[0]


def test_a_store_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "tp1-rank0").mkdir()
    (tmp_path / "a").write_bytes(b"x" * 100)
    (tmp_path / "tp1-rank0" / "b").write_bytes(b"x" * 23)
    facts = read_store("planes_cache", str(tmp_path))
    assert (facts.dir, facts.size, facts.complete) == (True, 123, None)


def test_a_sparse_store_shows_its_apparent_size(tmp_path: Path) -> None:
    with (tmp_path / "base.pack").open("wb") as stream:
        stream.truncate(1 << 30)
    assert read_store("pack_store", str(tmp_path)).size == 1 << 30


def test_a_store_that_is_not_there_is_not_complete(tmp_path: Path) -> None:
    facts = read_store("pack_store", str(tmp_path / "absent"))
    assert (facts.exists, facts.complete) == (False, False)


def test_a_file_in_place_of_a_store(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    facts = read_store("pack_store", str(tmp_path / "s"))
    assert facts.complete is False
    assert "expected a folder" in facts.problems[0]


@pytest.mark.parametrize(("present", "complete"), [(43, True), (42, False), (0, False)])
def test_layers_are_joined(present: int, complete: bool) -> None:
    store = FileFacts(path="/store", dir=True)
    joined = with_layers(store, StoreSummary(present, 43, ("why",)))
    assert (joined.complete, joined.layers_present, joined.layers_expected) == (complete, present, 43)
    assert joined.problems == ["why"]


def test_nothing_is_joined_to_a_store_that_is_not_there() -> None:
    absent = FileFacts(path="/store", exists=False, complete=False)
    assert with_layers(absent, StoreSummary(43, 43)) is absent


def test_what_is_not_known_stays_open() -> None:
    store = FileFacts(path="/store", dir=True)
    assert with_layers(store, None).complete is None


def test_the_revision_of_the_published_file_is_the_one_of_the_tests() -> None:
    assert len(REVISION) == 40
