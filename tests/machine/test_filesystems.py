import errno
import mmap
import os
from pathlib import Path

import pytest

from moet_boot.machine import filesystems
from moet_boot.machine.filesystems import BLOCK_BYTES, is_rotational, nearest_existing, read_filesystem, reads_direct
from moet_boot.machine.mounts import Mount
from moet_boot.machine.tree import Tree
from tests.machine.trees import tree_of

DISK = "/sys/devices/pci0000:00/0000:00:02.0/nvme/nvme0n1"


def mount(fstype: str = "ext4", device: str = "259:2", source: str = "/dev/nvme0n1p2", point: str = "/") -> Mount:
    return Mount(device=device, root="/", point=point, fstype=fstype, source=source, options="rw")


def big_file(path: Path) -> Path:
    path.write_bytes(b"x" * BLOCK_BYTES * 2)
    return path


def sysfs(folder: Path, rotational: str, *links: str) -> Tree:
    tree = tree_of(folder, {f"{DISK}/queue/rotational": rotational, f"{DISK}/nvme0n1p2/partition": "2"})
    for link in links:
        place = tree.path(link)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(tree.path(DISK) / "nvme0n1p2")
    return tree


@pytest.mark.parametrize(("flag", "rotational"), [("0\n", False), ("1\n", True)])
def test_the_disk_behind_a_partition(tmp_path: Path, flag: str, rotational: bool) -> None:
    assert is_rotational(sysfs(tmp_path, flag, "/sys/dev/block/259:2"), mount()) is rotational


def test_a_filesystem_with_an_invented_number_is_found_by_its_source(tmp_path: Path) -> None:
    tree = sysfs(tmp_path, "0", "/sys/class/block/nvme0n1p2")
    assert is_rotational(tree, mount("btrfs", device="0:33")) is False


def test_a_filesystem_without_a_disk(tmp_path: Path) -> None:
    assert is_rotational(tree_of(tmp_path, {}), mount("tmpfs", device="0:20", source="tmpfs")) is None


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    filesystem = read_filesystem(Tree(), str(tmp_path))
    real = os.statvfs(tmp_path)
    assert filesystem.exists
    assert filesystem.fstype
    assert filesystem.size_bytes == real.f_blocks * real.f_frsize
    assert filesystem.free_bytes is not None
    assert 0 < filesystem.free_bytes <= filesystem.size_bytes
    assert filesystem.read_only is False


def test_a_path_that_does_not_exist_shows_its_nearest_parent(tmp_path: Path) -> None:
    path = str(tmp_path / "a" / "b")
    filesystem = read_filesystem(Tree(), path, [mount("xfs")])
    assert (filesystem.path, filesystem.exists, filesystem.fstype) == (path, False, "xfs")
    assert filesystem.size_bytes == read_filesystem(Tree(), str(tmp_path)).size_bytes


def test_a_link_is_followed_to_the_filesystem_behind_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mounts = [mount(), mount("nfs4", point=str(tmp_path.resolve() / "real"))]
    assert read_filesystem(Tree(), str(tmp_path / "link"), mounts).fstype == "nfs4"


def test_a_relative_path_exists_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert read_filesystem(Tree(), "here").exists


def test_a_mount_that_is_not_listed_has_no_type(tmp_path: Path) -> None:
    assert read_filesystem(Tree(), str(tmp_path), []).fstype is None


def test_shared_memory_of_this_machine() -> None:
    assert read_filesystem(Tree(), "/dev/shm").fstype == "tmpfs"


def test_the_nearest_parent_of_a_path_below_a_file(tmp_path: Path) -> None:
    file = big_file(tmp_path / "file")
    assert nearest_existing(file / "below" / "it") == file


def test_direct_reads_work_or_are_refused_by_the_filesystem(tmp_path: Path) -> None:
    file = big_file(tmp_path / "file")
    by_hand = True
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        by_hand = False
    else:
        with mmap.mmap(-1, BLOCK_BYTES) as page:
            by_hand = os.preadv(descriptor, [page], 0) == BLOCK_BYTES
        os.close(descriptor)
    assert reads_direct(file) is by_hand
    assert reads_direct(tmp_path) is by_hand


def test_a_filesystem_that_refuses_direct_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bool:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(filesystems, "_read_block", refused)
    assert reads_direct(big_file(tmp_path / "file")) is False


def test_a_file_that_cannot_be_read_says_nothing_about_the_filesystem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(filesystems, "_read_block", denied)
    assert reads_direct(big_file(tmp_path / "file")) is None


def test_nothing_to_try_direct_reads_on(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    assert reads_direct(tmp_path) is None


def test_direct_reads_leave_the_file_as_it_was(tmp_path: Path) -> None:
    file = big_file(tmp_path / "file")
    before = file.stat()
    reads_direct(file)
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)
