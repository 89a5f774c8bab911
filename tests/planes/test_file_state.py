import os
from pathlib import Path

from moet_boot.planes.file_state import FileState


def test_it_is_what_stat_says(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    stat = (tmp_path / "file").stat()
    state = FileState.of(stat)
    assert (state.size, state.mtime_ns, state.ctime_ns) == (5, stat.st_mtime_ns, stat.st_ctime_ns)
    assert (state.inode, state.device) == (stat.st_ino, stat.st_dev)


def test_a_time_that_was_put_back_shows(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = FileState.of(path.stat())
    assert after.mtime_ns == before.st_mtime_ns
    assert after != FileState.of(before)
