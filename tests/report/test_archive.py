import io
import os
import tarfile
from pathlib import Path
from typing import Never

import pytest

from moet_boot.errors import UsageError
from moet_boot.report.archive import Entry, packed, require_new, write_new

ENTRIES = [Entry("a.txt", b"one", "a text"), Entry("b.json", b"{}", "a document")]


def test_the_archive_has_the_files_and_no_owner() -> None:
    content = packed(ENTRIES, now=1e9)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        members = tar.getmembers()
        assert [tar.extractfile(member).read() for member in members] == [b"one", b"{}"]  # type: ignore[union-attr]
    assert [member.name for member in members] == ["moet-boot-report/a.txt", "moet-boot-report/b.json"]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mode, m.mtime) for m in members} == {(0, 0, "", "", 0o644, 1e9)}


def test_the_same_report_is_the_same_archive() -> None:
    assert packed(ENTRIES, now=1e9) == packed(ENTRIES, now=1e9)


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    write_new(tmp_path / "r.tar.gz", b"x")
    assert (tmp_path / "r.tar.gz").read_bytes() == b"x"
    assert (tmp_path / "r.tar.gz").stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "r.tar.gz"]


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
def test_nothing_is_overwritten(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "r.tar.gz"
    other = tmp_path / "other"
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(other)
    if kind == "link":
        other.write_text("mine")
    with pytest.raises(UsageError, match="exists and is not overwritten"):
        require_new(target)
    with pytest.raises(UsageError):
        write_new(target, b"x")
    assert not other.exists() or other.read_text() == "mine"
    assert not target.is_file() or target.read_text() == "mine"
    assert not list(tmp_path.glob(".moet*"))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        require_new(tmp_path / "no" / "r.tar.gz")
    with pytest.raises(UsageError, match="cannot write"):
        write_new(tmp_path / "no" / "r.tar.gz", b"x")


def test_a_disk_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int) -> Never:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_new(tmp_path / "r.tar.gz", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path, _target: Path) -> Never:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_new(tmp_path / "r.tar.gz", b"x")
    with pytest.raises(UsageError, match="not overwritten"):
        write_new(tmp_path / "r.tar.gz", b"y")
    assert (tmp_path / "r.tar.gz").read_bytes() == b"x"
    assert list(tmp_path.iterdir()) == [tmp_path / "r.tar.gz"]
