import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.places import state_dir
from moet_boot.planes.file_state import FileState
from moet_boot.planes.stamp import stamp_is_valid, valid_stamp, write_stamp
from moet_boot.planes.verify_once import verify_once
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from testing.plane_file import OWN, copy_of, flip, put

FULL = VerifyOptions(mode=VerifyMode.FULL, threads=1)


@pytest.fixture
def verified(tmp_path: Path) -> Path:
    path = copy_of(OWN, tmp_path)
    verify_once(path, FULL)
    return path


def only_stamp() -> Path:
    (path,) = (state_dir() / "stamps").iterdir()
    return path


def test_a_verified_file_is_remembered(verified: Path) -> None:
    assert stamp_is_valid(verified)
    stamp = valid_stamp(verified)
    assert stamp is not None
    assert (stamp.file.size, stamp.head_bytes, stamp.path) == (237_568, 8192, str(verified))


def test_a_file_never_verified_is_not(tmp_path: Path) -> None:
    assert not stamp_is_valid(copy_of(OWN, tmp_path))
    assert not stamp_is_valid(tmp_path / "missing")
    assert not stamp_is_valid(tmp_path)


def touch(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def change_table_keeping_the_time(path: Path) -> None:
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    flip(path, 4100)
    os.utime(path, ns=times)


def grow_keeping_the_time(path: Path) -> None:
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    put(path, path.stat().st_size, b"x")
    os.utime(path, ns=times)


def replace_by_a_copy(path: Path) -> None:
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.with_name("copy").write_bytes(path.read_bytes())
    path.with_name("copy").rename(path)
    os.utime(path, ns=times)


def change_a_slot_keeping_the_time(path: Path) -> None:
    before = path.stat()
    flip(path, before.st_size - 20_000)
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # an old kernel's clock moves every few milliseconds
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        touch,
        change_table_keeping_the_time,
        change_a_slot_keeping_the_time,
        grow_keeping_the_time,
        replace_by_a_copy,
        Path.unlink,
    ],
    ids=["mtime", "table", "ctime", "size", "inode", "gone"],
)
def test_any_change_of_the_file_ends_the_stamp(verified: Path, change: Callable[[Path], None]) -> None:
    change(verified)
    assert not stamp_is_valid(verified)


def test_another_device_ends_the_stamp(verified: Path) -> None:
    stamp = json.loads(only_stamp().read_text())
    stamp["file"]["device"] += 1
    only_stamp().write_text(json.dumps(stamp))
    assert not stamp_is_valid(verified)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"head_bytes": 8192}', '{"file": 1}', "\0" * 100],
    ids=["empty", "cut", "list", "null", "no keys", "few keys", "other kind", "zeros"],
)
def test_a_damaged_stamp_is_no_stamp(verified: Path, text: str) -> None:
    only_stamp().write_text(text)
    assert not stamp_is_valid(verified)


@pytest.mark.parametrize("head", [0, -1, 1 << 40, "8192", None, 237_569], ids=str)
def test_a_stamp_with_an_impossible_head_is_no_stamp(verified: Path, head: object) -> None:
    stamp = json.loads(only_stamp().read_text())
    only_stamp().write_text(json.dumps({**stamp, "head_bytes": head}))
    assert not stamp_is_valid(verified)


def test_a_file_that_changed_after_the_verification_is_not_recorded(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    seen = FileState.of(path.stat())
    change_a_slot_keeping_the_time(path)
    assert not write_stamp(path, 8192, seen)
    assert not stamp_is_valid(path)
    assert list((state_dir() / "stamps").iterdir()) == []


def test_the_stamp_belongs_to_the_file_and_not_to_the_name(verified: Path) -> None:
    link = verified.with_name("link")
    link.symlink_to(verified)
    assert stamp_is_valid(link)


def test_a_name_that_is_no_text_can_be_on_record(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path).rename(tmp_path / os.fsdecode(b"planes\xff"))
    assert not verify_once(path, FULL).findings.notes
    assert stamp_is_valid(path)


def test_a_loop_of_links_has_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert not stamp_is_valid(tmp_path / "a")


def test_a_state_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copy_of(OWN, tmp_path)
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("MOET_BOOT_STATE_DIR", str(tmp_path / "blocked" / "state"))
    with pytest.raises(MoetBootError, match="cannot create"):
        write_stamp(path, 8192, FileState.of(path.stat()))


def test_a_disk_that_is_full_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    path = copy_of(OWN, tmp_path)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(MoetBootError, match="No space left"):
        write_stamp(path, 8192, FileState.of(path.stat()))
