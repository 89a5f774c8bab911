import os
from pathlib import Path

import pytest

from moet_boot.planes.json_file import FileState, read_json


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"{}", FileState.FOUND),
        (b"{", FileState.NOT_JSON),
        (b"\xff\xfe\x00", FileState.NOT_JSON),
        (None, FileState.MISSING),
    ],
)
def test_json_files(content: bytes | None, state: FileState, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    assert read_json(path).state is state


def test_json_that_is_no_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_json(tmp_path / "pipe").state is FileState.UNREADABLE
    assert read_json(tmp_path).state is FileState.UNREADABLE
    (tmp_path / "deep.json").write_text("[" * 200_000)
    assert read_json(tmp_path / "deep.json").state is FileState.NOT_JSON
