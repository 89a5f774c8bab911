import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, UsageError
from moet_boot.planes import moet2pf_write
from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.moet2pf_write import PlaneFileWriter
from testing.golden import golden_json
from testing.plane_file import OWN, REPO, REVISION, TINY, flip

INDEX_SHA256 = bytes.fromhex(golden_json("iv_expected.json")["files"]["model.safetensors.index.json"])
HEADER = Header(TINY, REPO, REVISION, index_sha256=INDEX_SHA256)
GOLDEN_BYTES = OWN.read_bytes()


def put_slots(writer: PlaneFileWriter, slots: range) -> None:
    """Take slots from the golden file."""
    buffer = AlignedBuffer(TINY.slot_stride)
    for slot in slots:
        start = writer.layout.slot_offset(slot)
        buffer.view[:] = GOLDEN_BYTES[start : start + TINY.slot_stride]
        writer.write_slot(slot, buffer.view)
        writer.record(slot, hashlib.sha256(buffer.view[: TINY.slot_bytes]).digest())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != "" or path.is_file())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "planes.moet2pf"


def test_slots_in_any_order_give_the_golden_file_and_nothing_else(out: Path) -> None:
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        for slot in (5, 0, 7, 3, 1, 2, 6, 4):
            put_slots(writer, range(slot, slot + 1))
        assert not out.exists()
        header = writer.finish()
    assert out.read_bytes() == GOLDEN_BYTES
    assert header.to_bytes() == GOLDEN_BYTES[:4096]
    assert names(out.parent) == ["planes.moet2pf"]


def test_a_writer_that_stops_leaves_a_partial_file_that_the_next_one_knows(out: Path) -> None:
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(3))
    assert names(out.parent) == [".planes.moet2pf.partial"]
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        digests = [hashlib.sha256(GOLDEN_BYTES[8192 + 28_672 * slot :][:27_648]).digest() for slot in range(3)]
        assert writer.journal == dict(enumerate(digests))


def test_a_writer_that_did_nothing_leaves_nothing(out: Path) -> None:
    with PlaneFileWriter(out, HEADER, b"origin"):
        pass
    assert names(out.parent) == []


@pytest.mark.parametrize(
    ("header", "origin"),
    [
        (HEADER, b"another origin"),
        (Header(TINY, REPO, "f" * 40, index_sha256=INDEX_SHA256), b"origin"),
        (Header(TINY, REPO, REVISION), b"origin"),
    ],
    ids=["checkpoint", "revision", "index"],
)
def test_a_partial_file_of_other_work_is_not_continued(out: Path, header: Header, origin: bytes) -> None:
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(3))
    with PlaneFileWriter(out, header, origin) as writer:
        assert writer.journal == {}
        put_slots(writer, range(8))
        writer.finish()
    assert out.read_bytes()[4096:] == GOLDEN_BYTES[4096:]


def garble_table(partial: Path) -> None:
    flip(partial, 4096 + 48 + 33)


@pytest.mark.parametrize(
    ("damage", "known"),
    [
        (garble_table, {0, 2}),
        (lambda partial: os.truncate(partial, 9000), set()),
        (lambda partial: partial.write_bytes(b""), set()),
        (lambda partial: flip(partial, 0), set()),
        (Path.unlink, set()),
    ],
    ids=["an entry", "cut", "empty", "mark", "gone"],
)
def test_only_sound_entries_of_a_partial_file_count(
    out: Path, damage: Callable[[Path], object], known: set[int]
) -> None:
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(3))
    damage(writer.partial)
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        assert set(writer.journal) == known


def test_a_second_writer_is_locked_out(out: Path) -> None:
    with PlaneFileWriter(out, HEADER, b"origin"), pytest.raises(BusyError, match="is being written by another"):
        PlaneFileWriter(out, HEADER, b"origin").__enter__()


def test_a_lock_held_by_a_stranger_is_respected(out: Path) -> None:
    with FileLock(out.with_name(".planes.moet2pf.lock")), pytest.raises(BusyError):
        PlaneFileWriter(out, HEADER, b"origin").__enter__()


def test_an_existing_file_is_never_touched_unless_told(out: Path) -> None:
    out.write_bytes(b"precious")
    with pytest.raises(UsageError, match="exists already"):
        PlaneFileWriter(out, HEADER, b"origin")
    with PlaneFileWriter(out, HEADER, b"origin", overwrite=True) as writer:
        put_slots(writer, range(8))
        assert out.read_bytes() == b"precious"
        writer.finish()
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_file_that_appeared_meanwhile_is_not_overwritten(out: Path) -> None:
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(8))
        out.write_bytes(b"precious")
        with pytest.raises(UsageError, match="exists already"):
            writer.finish()
    assert out.read_bytes() == b"precious"


def test_a_folder_is_never_overwritten(out: Path) -> None:
    out.mkdir()
    with pytest.raises(UsageError, match="exists already"):
        PlaneFileWriter(out, HEADER, b"origin", overwrite=True)


def test_a_missing_folder_is_missing(out: Path) -> None:
    with pytest.raises(ArtefactMissingError, match=r"folder .* does not exist"):
        PlaneFileWriter(out.parent / "deeper" / "x", HEADER, b"origin")


def test_the_check_sees_the_file_before_it_has_a_name(out: Path) -> None:
    seen: list[tuple[bool, bytes, bytes, int]] = []

    def check(path: Path, header: Header, digests: list[bytes]) -> None:
        seen.append((out.exists(), path.read_bytes()[4096:], header.to_bytes(), len(digests)))

    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(8))
        writer.finish(check)
    assert seen == [(False, GOLDEN_BYTES[4096:], GOLDEN_BYTES[:4096], 8)]


def test_a_check_that_fails_leaves_no_file_and_work_to_go_on_with(out: Path) -> None:
    def fail(*_: object) -> None:
        raise MoetBootError("unreadable")

    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(8))
        with pytest.raises(MoetBootError, match="unreadable"):
            writer.finish(fail)
    assert not out.exists()
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        assert len(writer.journal) == 8


def test_too_little_space_is_said_before_anything_is_written(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise MoetBootError("needs more than is free")

    monkeypatch.setattr(moet2pf_write, "require_space", no_space)
    with pytest.raises(MoetBootError, match="needs more"):
        PlaneFileWriter(out, HEADER, b"origin").__enter__()
    assert names(out.parent) == []


def test_space_that_a_partial_file_holds_is_not_asked_for_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(moet2pf_write, "require_space", lambda _folder, needed, _why: asked.append(needed))
    for _ in range(2):
        with PlaneFileWriter(out, HEADER, b"origin") as writer:
            put_slots(writer, range(8))
    assert asked[0] == HEADER.layout.file_bytes
    assert asked[1] <= 4096


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
def test_a_full_disk_is_one_clear_error_and_releases_the_lock(
    out: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(MoetBootError, match="no space left"):
            PlaneFileWriter(out, HEADER, b"origin").__enter__()
    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(8))
        writer.finish()
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_folder_without_permission_is_one_clear_error(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(MoetBootError, match="cannot be written: Permission denied"):
        PlaneFileWriter(out, HEADER, b"origin").__enter__()


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_disk_that_fails_at_the_end_gives_no_name_and_keeps_the_work(
    out: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise OSError(5, "Input/output error")

    with PlaneFileWriter(out, HEADER, b"origin") as writer:
        put_slots(writer, range(8))
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(MoetBootError, match="cannot be written: Input/output error"):
                writer.finish()
    assert not out.exists()
    assert writer.partial.exists()


def test_a_folder_where_the_partial_file_belongs_is_one_clear_error(out: Path) -> None:
    out.with_name(".planes.moet2pf.partial").mkdir()
    with pytest.raises(MoetBootError, match="cannot be written: Is a directory"):
        PlaneFileWriter(out, HEADER, b"origin").__enter__()


def test_a_place_where_no_file_can_be_made_is_not_called_busy() -> None:
    with pytest.raises(MoetBootError, match="/proc/planes cannot be written"):
        PlaneFileWriter(Path("/proc/planes"), HEADER, b"origin").__enter__()
