import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from moet_boot.planes import whole_file
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.whole_file import whole_file_sha256


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 8192, 20_000, 5 * 4096 + 1, 50 * 8192 + 5], ids=str)
def test_it_is_the_sha256_of_all_bytes(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", 8192)
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    with DirectReader(tmp_path / "file") as reader:
        assert whole_file_sha256(reader) == hashlib.sha256(content).hexdigest()


def test_first_bytes_can_stand_in_for_those_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", 4096)
    (tmp_path / "file").write_bytes(bytes(4096) + b"body")
    with DirectReader(tmp_path / "file") as reader:
        digest = whole_file_sha256(reader, first=b"h" * 4096)
    assert digest == hashlib.sha256(b"h" * 4096 + b"body").hexdigest()


def test_several_reads_are_under_way_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", 4096)
    content = os.urandom(20 * 4096)
    (tmp_path / "file").write_bytes(content)
    begun: list[int] = []
    together, preadv = threading.Event(), os.preadv

    def wait_for_others(fd: int, buffers: list[memoryview], offset: int) -> int:
        begun.append(offset)
        if len(begun) >= 4:
            together.set()
        if not together.wait(timeout=30):  # nobody came: they are read one after the other
            raise OSError(errno.ETIMEDOUT, "alone")
        return preadv(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", wait_for_others)
    with DirectReader(tmp_path / "file") as reader:
        assert whole_file_sha256(reader) == hashlib.sha256(content).hexdigest()


def test_progress_counts_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", 4096)
    (tmp_path / "file").write_bytes(bytes(10_000))
    told: list[tuple[int, int]] = []
    with DirectReader(tmp_path / "file") as reader:
        whole_file_sha256(reader, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(4096, 10_000), (8192, 10_000), (10_000, 10_000)]


def test_a_read_error_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    (tmp_path / "file").write_bytes(bytes(10_000))
    monkeypatch.setattr(os, "preadv", fail)
    with DirectReader(tmp_path / "file") as reader, pytest.raises(OSError, match="Input/output"):
        whole_file_sha256(reader)
