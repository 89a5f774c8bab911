import errno
import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader, EndOfFileError
from testing.page_cache import drop_from_cache, resident_bytes

CONTENT = bytes(os.urandom(40_000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(CONTENT)
    return path


@given(offset=st.integers(0, len(CONTENT)), size=st.integers(0, len(CONTENT)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_span_is_read_as_it_is(file: Path, offset: int, size: int) -> None:
    size = min(size, len(CONTENT) - offset)
    with DirectReader(file) as reader:
        assert bytes(reader.read(AlignedBuffer(size + 8192), offset, size)) == CONTENT[offset : offset + size]


def test_a_span_beyond_the_end_is_an_error_and_not_zeros(file: Path) -> None:
    with DirectReader(file) as reader, pytest.raises(EndOfFileError, match="ends at 40000"):
        reader.read(AlignedBuffer(8192), len(CONTENT) - 10, 11)


def test_direct_reads_leave_the_page_cache_alone(file: Path) -> None:
    drop_from_cache(file)
    with DirectReader(file) as reader:
        reader.read(AlignedBuffer(len(CONTENT)), 0, len(CONTENT))
        assert reader.io == "direct"
    assert resident_bytes(file) == 0


def test_buffered_reads_drop_their_pages(file: Path) -> None:
    drop_from_cache(file)
    with DirectReader(file, direct=False) as reader:
        assert bytes(reader.read(AlignedBuffer(len(CONTENT)), 0, len(CONTENT))) == CONTENT
        assert reader.io == "buffered"
    assert resident_bytes(file) == 0


def refusing(call: Callable[..., Any], *, at_open: bool) -> Callable[..., Any]:
    """A system call that fails with EINVAL whenever O_DIRECT is in play."""

    def wrapped(*args: Any) -> Any:
        flags = args[1] if at_open else fcntl.fcntl(args[0], fcntl.F_GETFL)
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return call(*args)

    return wrapped


@pytest.mark.parametrize("call", ["open", "preadv"])
def test_a_filesystem_that_refuses_o_direct_is_read_buffered(
    file: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, call, refusing(getattr(os, call), at_open=call == "open"))
    with DirectReader(file) as reader:
        assert bytes(reader.read(AlignedBuffer(len(CONTENT)), 100, 20_000)) == CONTENT[100:20_100]
        assert reader.io == "buffered"


@pytest.mark.parametrize("limit", [4096, 5000, 8192, 12_289], ids=str)
def test_short_reads_are_continued(file: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, offset: min(limit, whole(fd, buffers, offset)))
    with DirectReader(file) as reader:
        assert bytes(reader.read(AlignedBuffer(len(CONTENT)), 1, 39_000)) == CONTENT[1:39_001]


def test_reads_that_never_get_anywhere_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "preadv", lambda *_: 100)
    with DirectReader(file) as reader, pytest.raises(EndOfFileError):
        reader.read(AlignedBuffer(8192), 0, 5000)


def test_an_io_error_is_passed_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    with DirectReader(file) as reader, pytest.raises(OSError, match="Input/output error"):
        reader.read(AlignedBuffer(4096), 0, 4096)


def test_it_counts_what_it_read(file: Path) -> None:
    with DirectReader(file) as reader:
        reader.read(AlignedBuffer(8192), 0, 8192)
        reader.read(AlignedBuffer(4096), 4096, 10)
        assert reader.bytes_read == 12_288


def make_directory(path: Path) -> None:
    path.mkdir()


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [(make_directory, "a directory"), (os.mkfifo, "a FIFO"), (make_socket, "a socket")],
    ids=["directory", "FIFO", "socket"],
)
@pytest.mark.timeout(30)
def test_what_is_no_regular_file_is_named_and_never_waited_for(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "odd")
    with pytest.raises(ArtefactDamagedError, match=f"odd is {kind}"):
        DirectReader(tmp_path / "odd")


def test_a_device_is_not_opened() -> None:
    with pytest.raises(ArtefactDamagedError, match="character device"):
        DirectReader(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["missing", "data/below a file"])
def test_a_missing_file_is_missing(file: Path, name: str) -> None:
    with pytest.raises(ArtefactMissingError, match="does not exist"):
        DirectReader(file.parent / name)


def test_a_dangling_link_is_missing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ArtefactMissingError):
        DirectReader(tmp_path / "link")


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.EACCES, "permission denied"), (errno.EIO, "Input/output error"), (errno.ELOOP, "symbolic links")],
    ids=["EACCES", "EIO", "ELOOP"],
)
def test_a_file_that_cannot_be_opened_says_why(
    file: Path, number: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(ArtefactDamagedError, match=message):
        DirectReader(file)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


def replace_by_another_of_the_same_time(path: Path) -> None:
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.with_name("other").write_bytes(path.read_bytes())
    os.utime(path.with_name("other"), ns=times)
    path.with_name("other").rename(path)


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (append, True),
        (replace_by_another_of_the_same_time, True),
        (Path.unlink, True),
        (lambda path: path.chmod(0o600), False),
        (lambda path: os.link(path, path.with_name("link")), False),
    ],
    ids=["written", "replaced", "removed", "mode", "link"],
)
def test_it_knows_whether_its_file_changed_meanwhile(
    change: Callable[[Path], object], changed: bool, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(bytes(5000))
    with DirectReader(tmp_path / "file") as reader:
        assert not reader.changed
        change(tmp_path / "file")
        assert reader.changed is changed
