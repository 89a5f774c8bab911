import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.planes.holes import Hole, find_holes

BLOCK = 4096


def sparse(path: Path, written: list[bool]) -> None:
    """A file of blocks of which only some were written."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(len(written) * BLOCK)
        for index, present in enumerate(written):
            if present:
                file.seek(index * BLOCK)
                file.write(b"x" * BLOCK)


def holes(path: Path, start: int, end: int) -> list[Hole]:
    fd = os.open(path, os.O_RDONLY)
    try:
        return find_holes(fd, start, end)
    finally:
        os.close(fd)


@given(st.lists(st.booleans(), min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_holes_are_the_blocks_that_were_not_written(tmp_path: Path, written: list[bool]) -> None:
    sparse(tmp_path / "file", written)
    size = len(written) * BLOCK
    in_holes = {
        offset // BLOCK for hole in holes(tmp_path / "file", 0, size) for offset in range(hole.start, hole.end, BLOCK)
    }
    assert in_holes == {index for index, present in enumerate(written) if not present}


def test_only_the_asked_part_is_looked_at(tmp_path: Path) -> None:
    sparse(tmp_path / "file", [False, True, False, False])
    assert holes(tmp_path / "file", BLOCK, 3 * BLOCK) == [Hole(2 * BLOCK, 3 * BLOCK)]
    assert holes(tmp_path / "file", BLOCK, 2 * BLOCK) == []


def test_a_filesystem_without_holes_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    sparse(tmp_path / "file", [False])
    monkeypatch.setattr(os, "lseek", refuse)
    assert holes(tmp_path / "file", 0, BLOCK) == []


def test_other_failures_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    sparse(tmp_path / "file", [False])
    monkeypatch.setattr(os, "lseek", fail)
    with pytest.raises(OSError, match="Input/output"):
        holes(tmp_path / "file", 0, BLOCK)
