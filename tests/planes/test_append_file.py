import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import MoetBootError
from moet_boot.planes.append_file import BUFFER_BYTES, AppendFile
from testing.page_cache import resident_bytes


@given(pieces=st.lists(st.integers(0, 10_000), max_size=8))
def test_pieces_of_any_size_follow_each_other(pieces: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("append") / "out"
    data = [bytes([number % 251 + 1]) * size for number, size in enumerate(pieces)]
    file = AppendFile(path)
    for piece in data:
        file.append(memoryview(piece))
    file.close()
    assert path.read_bytes() == b"".join(data)
    assert file.size == sum(pieces)


@pytest.mark.parametrize("size", [BUFFER_BYTES - 1, BUFFER_BYTES, BUFFER_BYTES + 1, 3 * BUFFER_BYTES + 5])
def test_more_than_a_buffer(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    file = AppendFile(tmp_path / "out")
    file.append(memoryview(data))
    file.append(memoryview(b"end"))
    file.close()
    assert resident_bytes(tmp_path / "out") <= 4096  # the page that the cut to size touches
    assert (tmp_path / "out").read_bytes() == data + b"end"


@pytest.mark.parametrize("name", ["pwrite", "ftruncate", "fsync"])
def test_a_full_disk_is_one_clear_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = AppendFile(tmp_path / "out")
    file.append(memoryview(b"data"))
    with monkeypatch.context() as patch:
        patch.setattr(os, name, full)
        with pytest.raises(MoetBootError, match="no space left"):
            file.close()


def test_an_abandoned_file_is_closed(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "out")
    before = len(list(Path("/proc/self/fd").iterdir()))
    file.abandon()
    assert len(list(Path("/proc/self/fd").iterdir())) == before - 1
