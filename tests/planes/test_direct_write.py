import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.direct_write import DirectWriter, require_space
from testing.page_cache import resident_bytes

SIZE = 32_768


@pytest.fixture
def data() -> AlignedBuffer:
    buffer = AlignedBuffer(SIZE)
    buffer.view[:] = os.urandom(SIZE)
    return buffer


def write(path: Path, data: AlignedBuffer, *, direct: bool = True) -> DirectWriter:
    writer = DirectWriter(path, direct=direct)
    try:
        writer.write(data.view, 4096)
    finally:
        writer.close()
    return writer


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "buffered"])
def test_what_is_written_is_there_and_not_in_the_page_cache(tmp_path: Path, data: AlignedBuffer, direct: bool) -> None:
    writer = write(tmp_path / "out", data, direct=direct)
    assert writer.direct is direct
    assert resident_bytes(tmp_path / "out") == 0
    assert (tmp_path / "out").read_bytes() == bytes(4096) + data.view


@pytest.mark.parametrize("limit", [4096, 5000, 12_288], ids=str)
def test_short_writes_are_continued(
    tmp_path: Path, data: AlignedBuffer, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, view, offset: min(limit, whole(fd, view, offset)))
    write(tmp_path / "out", data)
    assert (tmp_path / "out").read_bytes()[4096:] == data.view


def failing(number: int, *, only_direct: bool) -> Callable[..., int]:
    whole = os.pwrite

    def pwrite(fd: int, view: memoryview, offset: int) -> int:
        if only_direct and not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT:
            return whole(fd, view, offset)
        raise OSError(number, os.strerror(number))

    return pwrite


def test_a_filesystem_that_refuses_o_direct_is_written_buffered(
    tmp_path: Path, data: AlignedBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", failing(errno.EINVAL, only_direct=True))
    assert not write(tmp_path / "out", data).direct
    assert (tmp_path / "out").read_bytes()[4096:] == data.view


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "no space left"), (errno.EDQUOT, "no space left"), (errno.EIO, "Input/output error")],
    ids=["ENOSPC", "EDQUOT", "EIO"],
)
def test_a_failed_write_is_one_clear_error(
    tmp_path: Path, data: AlignedBuffer, number: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", failing(number, only_direct=False))
    with pytest.raises(MoetBootError, match=message) as caught:
        write(tmp_path / "out", data)
    assert caught.value.fix


def test_a_folder_that_does_not_exist_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(MoetBootError, match="cannot be written: No such file"):
        DirectWriter(tmp_path / "missing" / "out")


def test_space_is_compared_with_what_is_free(tmp_path: Path) -> None:
    require_space(tmp_path, 1, "a byte")
    with pytest.raises(MoetBootError, match=r"the moon needs 1048576\.00 GiB in .* are free"):
        require_space(tmp_path, 1 << 50, "the moon")
