import resource

import pytest

from moet_boot.machine.limits import may_lock, parse_limits, read_limits
from moet_boot.machine.tree import Tree, UnreadError

TEXT = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max core file size        0                    unlimited            bytes
Max open files            1024                 1048576              files
Max locked memory         8388608              unlimited            bytes
Max msgqueue size         819200               819200               bytes
Max nice priority         0                    0
"""


def test_soft_limits_count() -> None:
    limits = parse_limits(TEXT)
    assert (limits.memlock_bytes, limits.nofile, limits.core_bytes) == (8388608, 1024, 0)


@pytest.mark.parametrize(("written", "hard"), [("1048576", 1048576), ("unlimited", "unlimited")])
def test_how_far_open_files_can_be_raised(written: str, hard: int | str) -> None:
    assert parse_limits(TEXT.replace("1048576", written)).nofile_hard == hard


def test_unlimited_is_none() -> None:
    limits = parse_limits(
        TEXT.replace("0                    unlimited            bytes", "unlimited  unlimited  bytes")
    )
    assert limits.core_bytes is None


@pytest.mark.parametrize("missing", ["Max open files", "Max locked memory", "Max core file size"])
def test_a_limit_that_is_not_listed(missing: str) -> None:
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith(missing))
    with pytest.raises(UnreadError, match=missing):
        parse_limits(text)


def test_this_process() -> None:
    limits = read_limits(Tree())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limits.nofile == (None if soft == resource.RLIM_INFINITY else soft)
    assert limits.nofile_hard == ("unlimited" if hard == resource.RLIM_INFINITY else hard)


@pytest.mark.parametrize(
    ("effective", "may"),
    [("000001ffffffffff", True), ("00000000a80425fb", False), ("0000000000004000", True), ("0000000000000000", False)],
    ids=["root", "root in a container", "the one", "anybody"],
)
def test_whether_no_limit_on_locked_memory_counts(effective: str, may: bool) -> None:
    assert may_lock(f"Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{effective}\nSeccomp:\t0\n") is may


def test_a_status_without_capabilities() -> None:
    assert may_lock("Name:\tx\n") is None


def test_the_capabilities_of_this_process_are_seen() -> None:
    assert read_limits(Tree()).ipc_lock is not None
