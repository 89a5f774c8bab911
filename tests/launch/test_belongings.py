"""The record of a server's belongings: who finds it, and who must not believe it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moet_boot.launch.belongings import Belongings, Record, abandoned
from moet_boot.machine.supervisor_mark import own_mark

SEGMENT, FILE = Path("/dev/shm/psm_0123abcd"), Path("/tmp/vllm_dist_x")


def kept(folder: Path) -> Record:
    record = Record(folder)
    record.processes = ((7, 70),)
    record.keep([(SEGMENT, 5)], [FILE])
    return record


def killed() -> str:
    """The mark of a moet-boot of this machine that has ended."""
    return own_mark().rpartition(":")[0] + ":1"


def edit(record: Record, **changes: Any) -> None:
    record.path.write_text(json.dumps(json.loads(record.path.read_text()) | changes))


def test_what_is_kept_can_be_read(tmp_path: Path) -> None:
    record = kept(tmp_path)
    edit(record, owner=killed())
    (found,) = abandoned(tmp_path)
    assert found.path == record.path
    assert found.belongings.processes == ((7, 70),)
    assert found.belongings.segments == ((str(SEGMENT), 5),)
    assert found.belongings.files == (str(FILE),)


def test_the_owner_is_this_process_which_lives(tmp_path: Path) -> None:
    record = kept(tmp_path)
    assert Belongings.model_validate_json(record.path.read_bytes()).owner == own_mark()
    assert abandoned(tmp_path) == []
    assert record.path.exists()


def test_a_record_of_another_start_of_the_machine_means_nothing(tmp_path: Path) -> None:
    record = kept(tmp_path)
    edit(record, owner=killed(), boot_id="another")
    assert abandoned(tmp_path) == []
    assert not record.path.exists()


def test_a_record_of_another_container_is_left_alone(tmp_path: Path) -> None:
    record = kept(tmp_path)
    edit(record, owner="1:2:3")
    assert abandoned(tmp_path) == []
    assert record.path.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"owner": [1, 2]}', "\x00"])
def test_a_damaged_record_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "server-1.json").write_text(content)
    assert abandoned(tmp_path) == []


def test_without_a_folder_there_is_nothing(tmp_path: Path) -> None:
    assert abandoned(tmp_path / "absent") == []


def test_it_is_written_only_when_something_changed(tmp_path: Path) -> None:
    record = kept(tmp_path)
    first = record.path.stat().st_ino
    record.keep([(SEGMENT, 5)], [FILE])
    assert record.path.stat().st_ino == first
    record.keep([(SEGMENT, 6)], [FILE])
    assert json.loads(record.path.read_text())["segments"] == [[str(SEGMENT), 6]]
    assert [path.name for path in tmp_path.iterdir()] == [record.path.name]


def test_once_forgotten_it_stays_away(tmp_path: Path) -> None:
    record = kept(tmp_path)
    record.forget()
    record.keep([(SEGMENT, 9)], [])
    record.forget()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("act", [Record.forget, lambda record: record.keep([], [])], ids=["forget", "keep"])
def test_a_folder_that_takes_nothing_ends_nothing(tmp_path: Path, act: Callable[[Record], None]) -> None:
    (tmp_path / "file").touch()
    record = Record(tmp_path / "file" / "below")
    act(record)
    assert not record.path.exists()
    assert abandoned(tmp_path / "file" / "below") == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
