from typing import Any

import pytest

from tests.checks.cases import GONE, case_of, judge_by, said

GIB = 1 << 30


@pytest.mark.parametrize(
    ("root", "status"),
    [
        pytest.param({"path": "/", "free_bytes": 50 * GIB}, "pass", id="plenty"),
        pytest.param({"path": "/", "free_bytes": 9 * GIB}, "warn", id="9-gib"),
        pytest.param({"path": "/", "free_bytes": GIB // 2}, "refuse", id="half-a-gib"),
        pytest.param({"path": "/"}, "skipped", id="not-read"),
        pytest.param(GONE, "skipped", id="not-looked-at"),
    ],
)
def test_free(root: Any, status: str) -> None:
    assert judge_by("DISK.FREE", case_of("spark", {"fs.root": root})).status == status


@pytest.mark.parametrize(
    ("profile", "changes", "status", "words"),
    [
        pytest.param("spark", {}, "pass", ["checkpoint on ext4"], id="ext4"),
        pytest.param("spark", {"fs.plane.fstype": "tmpfs"}, "refuse", ["tmpfs", "--path plane_file="], id="tmpfs"),
        pytest.param("spark", {"fs.plane.fstype": "ramfs"}, "refuse", ["memory"], id="ramfs"),
        pytest.param("spark", {"fs.model.fstype": "tmpfs"}, "refuse", ["checkpoint"], id="model-on-tmpfs"),
        pytest.param("rtx6000-a", {"fs.plane.fstype": "tmpfs"}, "warn", ["planes_cache"], id="tmpfs-beside-a-card"),
        pytest.param("spark", {"fs.plane.fstype": "overlay"}, "warn", ["container's layer"], id="overlay"),
        pytest.param("spark", {"fs.model.fstype": "nfs4"}, "warn", ["local disk"], id="nfs"),
        pytest.param("spark", {"fs.model.fstype": "fuse.sshfs"}, "warn", ["local disk"], id="sshfs"),
        pytest.param("spark", {"fs.model.rotational": True}, "warn", ["turning disk"], id="hard-disk"),
        pytest.param("spark", {"fs.model.fstype": "fuseblk"}, "pass", [], id="ntfs"),
        pytest.param(
            "spark", {"fs.model.fstype": "nfs", "fs.plane.fstype": "tmpfs"}, "refuse", ["tmpfs"], id="the-worst-counts"
        ),
        pytest.param("spark", {"fs.plane.fstype": GONE, "fs.model.fstype": GONE}, "skipped", [], id="not-read"),
        pytest.param("spark", {"fs": None}, "skipped", [], id="no-filesystems"),
        pytest.param(
            "spark",
            {"fs.plane.exists": False, "fs.plane.fstype": "tmpfs"},
            "pass",
            ["checkpoint on ext4"],
            id="what-is-not-there-lies-nowhere",
        ),
    ],
)
def test_type(profile: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("DISK.TYPE", case_of(profile, changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("profile", "changes", "status"),
    [
        pytest.param("spark", {}, "pass", id="works"),
        pytest.param("spark", {"fs.plane.o_direct": False}, "refuse", id="does-not-work"),
        pytest.param("spark", {"fs.plane.o_direct": None}, "skipped", id="not-tried"),
        pytest.param("spark", {"fs.plane": GONE}, "skipped", id="no-place"),
        pytest.param("rtx6000-a", {"fs.plane.o_direct": False}, "skipped", id="caches-are-read-buffered"),
    ],
)
def test_direct(profile: str, changes: dict[str, Any], status: str) -> None:
    assert judge_by("DISK.DIRECT", case_of(profile, changes)).status == status
