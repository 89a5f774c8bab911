"""What is removed after a server, and what must never be."""

import mmap
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.launch.leftovers import Leftovers

HOLDER = """
import mmap, sys
stream = open(sys.argv[1], "r+b")
held = mmap.mmap(stream.fileno(), 4096)
if sys.argv[2] == "mapped": stream.close()
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder on tmpfs that stands for /dev/shm."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="moet-boot-test-") as folder:
        yield Path(folder)


def segment(shm: Path, name: str = "psm_0123abcd") -> Path:
    path = shm / name
    path.write_bytes(b"\0" * 4096)
    return path


class Holder:
    """A process that holds a segment, by a mapping alone or also by an open file."""

    def __init__(self, path: Path, how: str = "mapped") -> None:
        command = [sys.executable, "-S", "-E", "-c", HOLDER, str(path), how]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout
        assert self._process.stdout.readline() == b"holding\n"
        self.pid = self._process.pid

    def end(self) -> None:
        self._process.communicate()


@pytest.mark.parametrize("how", ["mapped", "open"])
def test_a_segment_that_the_server_held(shm: Path, how: str) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm)
    holder = Holder(path, how)
    leftovers.note_holders([holder.pid])
    holder.end()
    assert leftovers.remove() == ((str(path),), ())
    assert not path.exists()
    assert leftovers.remove() == ((), ())


def test_a_segment_that_was_there_before_the_start(shm: Path) -> None:
    path = segment(shm)
    leftovers = Leftovers(shm)
    holder = Holder(path)
    leftovers.note_holders([holder.pid])
    holder.end()
    assert leftovers.remove() == ((), ())
    assert path.exists()


def test_a_segment_that_nobody_of_ours_held(shm: Path) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm)
    leftovers.note_holders([os.getpid()])
    assert leftovers.remove() == ((), ())
    assert path.exists()


def test_a_file_of_another_kind(shm: Path) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm, "somebodys-database")
    holder = Holder(path)
    leftovers.note_holders([holder.pid])
    holder.end()
    assert leftovers.remove() == ((), ())
    assert path.exists()


def test_a_segment_that_somebody_else_still_holds(shm: Path) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm)
    server, other = Holder(path), Holder(path)
    leftovers.note_holders([server.pid])
    server.end()
    assert leftovers.remove() == ((), (f"{path} (another process holds it)",))
    assert path.exists()
    other.end()
    assert leftovers.remove() == ((str(path),), ())


def test_another_file_of_the_same_name(shm: Path) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm)
    holder = Holder(path)
    leftovers.note_holders([holder.pid])
    holder.end()
    path.rename(shm / "kept")
    segment(shm)
    assert leftovers.remove() == ((), ())
    assert path.exists()


def test_a_segment_that_the_server_unlinked_itself(shm: Path) -> None:
    leftovers = Leftovers(shm)
    path = segment(shm)
    holder = Holder(path)
    path.unlink()
    leftovers.note_holders([holder.pid])
    holder.end()
    assert leftovers.remove() == ((), ())


def test_what_cannot_be_removed_is_said(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    leftovers = Leftovers(shm)
    path = segment(shm)
    holder = Holder(path)
    leftovers.note_holders([holder.pid])
    holder.end()
    monkeypatch.setattr(Path, "unlink", refuse)
    assert leftovers.remove() == ((), (f"{path} (Operation not permitted)",))
    monkeypatch.undo()


def test_without_shared_memory_there_is_nothing_to_do(tmp_path: Path) -> None:
    leftovers = Leftovers(tmp_path / "absent")
    leftovers.note_holders([os.getpid(), 2**22 + 1])
    assert leftovers.remove() == ((), ())


class TestRendezvous:
    @pytest.fixture(autouse=True)
    def own_temporary_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    @staticmethod
    def line(path: Path) -> bytes:
        return f"world_size=1 rank=0 distributed_init_method=file://{path} backend=gloo\n".encode()

    def test_the_file_that_the_log_names(self, tmp_path: Path, shm: Path) -> None:
        path = tmp_path / f"vllm_dist_{uuid.uuid4().hex}"
        path.touch()
        leftovers = Leftovers(shm)
        leftovers.note_log(self.line(path))
        assert leftovers.remove() == ((str(path),), ())

    @pytest.mark.parametrize("cut", [1, 40, 60, 90])
    def test_a_line_in_two_pieces(self, tmp_path: Path, shm: Path, cut: int) -> None:
        path = tmp_path / f"vllm_dist_{uuid.uuid4().hex}"
        path.touch()
        leftovers = Leftovers(shm)
        leftovers.note_log(self.line(path)[:cut])
        leftovers.note_log(self.line(path)[cut:])
        assert leftovers.remove() == ((str(path),), ())

    def test_a_log_line_is_no_licence_to_delete(self, tmp_path: Path, shm: Path) -> None:
        name = f"vllm_dist_{uuid.uuid4().hex}"
        elsewhere = tmp_path / "elsewhere" / name
        elsewhere.parent.mkdir()
        elsewhere.touch()
        link = tmp_path / f"vllm_dist_{uuid.uuid4().hex}"
        link.symlink_to(elsewhere)
        folder = tmp_path / f"vllm_dist_{uuid.uuid4().hex}"
        folder.mkdir()
        other = tmp_path / "precious"
        other.touch()
        leftovers = Leftovers(shm)
        for path in (elsewhere, link, folder, other, tmp_path / "vllm_dist_xyz"):
            leftovers.note_log(self.line(path))
        assert leftovers.remove() == ((), ())
        assert elsewhere.exists()
        assert link.is_symlink()

    def test_a_file_that_is_gone_already(self, tmp_path: Path, shm: Path) -> None:
        leftovers = Leftovers(shm)
        leftovers.note_log(self.line(tmp_path / f"vllm_dist_{uuid.uuid4().hex}"))
        assert leftovers.remove() == ((), ())


def test_mapped_without_a_file_is_seen_in_the_maps(shm: Path) -> None:
    """Semaphores of multiprocessing are held so: their descriptor is closed at once."""
    leftovers = Leftovers(shm)
    path = segment(shm, "sem.mp-abcdefgh")
    with path.open("r+b") as stream:
        held = mmap.mmap(stream.fileno(), 4096)
    leftovers.note_holders([os.getpid()])
    held.close()
    assert leftovers.remove() == ((str(path),), ())


def test_a_semaphore_that_got_its_name_after_it_was_mapped(shm: Path) -> None:
    """As glibc's sem_open does: the name in the maps of its maker is one that no longer exists."""
    leftovers = Leftovers(shm)
    path = segment(shm, "sem.oBzWDd")
    with path.open("r+b") as stream:
        held = mmap.mmap(stream.fileno(), 4096)
    final = shm / "sem.mp-abcdefgh"
    final.hardlink_to(path)
    path.unlink()
    leftovers.note_holders([os.getpid()])
    held.close()
    assert leftovers.remove() == ((str(final),), ())
