from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.mounts import mount_of, parse_mountinfo

TEXT = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard
28 27 259:3 / /data rw,relatime shared:5 master:1 - xfs /dev/nvme0n1p3 rw
29 28 0:45 /models /data/my\040models rw - nfs4 nas:/export/models rw,vers=4.2
30 27 0:30 / /mnt rw - tmpfs tmpfs rw
31 30 0:31 / /mnt rw - overlay overlay rw,lowerdir=/a
not a mount
"""


def test_fields_of_a_mount() -> None:
    mount = parse_mountinfo(TEXT)[3]
    assert (mount.device, mount.root, mount.point) == ("0:45", "/models", "/data/my models")
    assert (mount.fstype, mount.source, mount.options) == ("nfs4", "nas:/export/models", "rw,vers=4.2")


def test_lines_of_another_form_are_left_out() -> None:
    assert len(parse_mountinfo(TEXT)) == 6


@pytest.mark.parametrize(
    ("path", "fstype"),
    [
        ("/home/x", "ext4"),
        ("/data", "xfs"),
        ("/data/other", "xfs"),
        ("/database", "ext4"),
        ("/data/my models/a.bin", "nfs4"),
        ("/mnt/x", "overlay"),
    ],
)
def test_the_longest_mount_point_wins_and_of_equals_the_last(path: str, fstype: str) -> None:
    mount = mount_of(PurePath(path), parse_mountinfo(TEXT))
    assert mount is not None
    assert mount.fstype == fstype


def test_no_mount_covers_the_path() -> None:
    assert mount_of(PurePath("/x"), []) is None


@given(st.text(max_size=120))
def test_any_text_gives_a_list(text: str) -> None:
    assert isinstance(parse_mountinfo(text), list)
