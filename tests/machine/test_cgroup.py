from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.cgroup import Bound, Level, combine, parse_membership, read_cgroup, tightest
from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.units import GIB
from tests.machine.trees import tree_of

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
UNLIMITED = "9223372036854771712"


def v2(folder: Path, membership: str, files: dict[str, str], mount: str = V2_MOUNT) -> Tree:
    system = {"/proc/self/cgroup": membership, "/proc/self/mountinfo": mount}
    return tree_of(folder, {**system, **{f"/sys/fs/cgroup{name}": text for name, text in files.items()}})


def v1(folder: Path, path: str, files: dict[str, str]) -> Tree:
    system = {
        "/proc/self/cgroup": f"4:memory:{path}\n1:cpu,cpuacct:/\n0::/\n",
        "/proc/self/mountinfo": V1_MOUNT + V2_MOUNT.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
    }
    return tree_of(folder, {**system, **{f"/sys/fs/cgroup/memory{name}": text for name, text in files.items()}})


def test_nothing_limits(tmp_path: Path) -> None:
    files = {"/user.slice/memory.max": "max\n", "/user.slice/memory.current": "1234\n"}
    cgroup = read_cgroup(v2(tmp_path, "0::/user.slice\n", files))
    assert (cgroup.version, cgroup.path, cgroup.memory_max, cgroup.memory_current) == (2, "/user.slice", "max", 1234)


def test_a_limit_of_a_parent_holds_for_the_leaf(tmp_path: Path) -> None:
    files = {
        "/system.slice/memory.max": str(64 * GIB),
        "/system.slice/memory.current": str(10 * GIB),
        "/system.slice/docker.service/memory.max": "max",
        "/system.slice/docker.service/memory.current": str(GIB),
        "/system.slice/docker.service/memory.swap.max": "0",
    }
    cgroup = read_cgroup(v2(tmp_path, "0::/system.slice/docker.service\n", files))
    assert cgroup.memory_max == 64 * GIB
    assert cgroup.memory_swap_max == 0
    assert (cgroup.path, cgroup.memory_current) == ("/system.slice", 10 * GIB)


def test_the_level_with_the_least_room_is_named(tmp_path: Path) -> None:
    files = {
        "/a/memory.max": str(20 * GIB),
        "/a/memory.current": str(19 * GIB),
        "/a/b/memory.max": str(8 * GIB),
        "/a/b/memory.current": str(GIB),
    }
    cgroup = read_cgroup(v2(tmp_path, "0::/a/b\n", files))
    assert (cgroup.path, cgroup.memory_current) == ("/a", 19 * GIB)
    assert cgroup.memory_max == 8 * GIB


def test_memory_high_throttles_too(tmp_path: Path) -> None:
    cgroup = read_cgroup(v2(tmp_path, "0::/a\n", {"/a/memory.high": str(GIB), "/a/memory.max": "max"}))
    assert (cgroup.memory_high, cgroup.memory_max) == (GIB, "max")


def test_a_container_with_a_namespace_sees_its_limit_at_the_root(tmp_path: Path) -> None:
    cgroup = read_cgroup(v2(tmp_path, "0::/\n", {"/memory.max": str(69 * GIB), "/memory.current": "500"}))
    assert (cgroup.path, cgroup.memory_max, cgroup.memory_current) == ("/", 69 * GIB, 500)


def test_a_container_without_a_namespace_sees_a_part_of_the_hierarchy(tmp_path: Path) -> None:
    mount = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    cgroup = read_cgroup(v2(tmp_path, "0::/docker/abc\n", {"/memory.max": str(69 * GIB)}, mount))
    assert cgroup.memory_max == 69 * GIB


def test_a_process_moved_out_of_its_namespace_sees_the_mount_only(tmp_path: Path) -> None:
    cgroup = read_cgroup(v2(tmp_path, "0::/../../other.scope\n", {"/memory.max": str(5 * GIB)}))
    assert cgroup.memory_max == 5 * GIB


def test_version_1_unlimited(tmp_path: Path) -> None:
    files = {"/job/memory.limit_in_bytes": UNLIMITED, "/job/memory.usage_in_bytes": "42"}
    cgroup = read_cgroup(v1(tmp_path, "/job", files))
    assert (cgroup.version, cgroup.memory_max, cgroup.memory_current) == (1, "max", 42)


def test_version_1_limits_memory_and_swap_together(tmp_path: Path) -> None:
    files = {
        "/job/memory.limit_in_bytes": str(8 * GIB),
        "/job/memory.memsw.limit_in_bytes": str(10 * GIB),
        "/job/memory.usage_in_bytes": str(GIB),
    }
    cgroup = read_cgroup(v1(tmp_path, "/job", files))
    assert (cgroup.memory_max, cgroup.memory_swap_max) == (8 * GIB, 2 * GIB)


def test_version_1_tells_a_container_of_limits_outside_its_view(tmp_path: Path) -> None:
    files = {
        "/memory.limit_in_bytes": UNLIMITED,
        "/memory.stat": f"cache 5\nhierarchical_memory_limit {4 * GIB}\nhierarchical_memsw_limit {UNLIMITED}\n",
    }
    assert read_cgroup(v1(tmp_path, "/docker/abc", files)).memory_max == 4 * GIB


@pytest.mark.parametrize(
    ("text", "version", "path"),
    [
        pytest.param("0::/user.slice\n", 2, "/user.slice", id="v2"),
        pytest.param("4:memory:/a\n0::/b\n", 1, "/a", id="hybrid-with-memory-in-v1"),
        pytest.param("4:cpuset,memory:/a\n", 1, "/a", id="controllers-together"),
        pytest.param("1:name=systemd:/a\n0::/b\n", 2, "/b", id="hybrid-with-memory-in-v2"),
        pytest.param("0::/with:colon\n", 2, "/with:colon", id="a-colon-in-the-path"),
    ],
)
def test_which_group_holds_the_memory(text: str, version: int, path: str) -> None:
    member = parse_membership(text)
    assert (member.version, member.path) == (version, path)


@pytest.mark.parametrize("text", ["", "1:cpu:/\n", "nonsense"])
def test_no_memory_group(text: str) -> None:
    with pytest.raises(UnreadError, match="no memory control group"):
        parse_membership(text)


def test_a_controller_that_is_not_mounted(tmp_path: Path) -> None:
    with pytest.raises(UnreadError, match="version 2 is mounted"):
        read_cgroup(v2(tmp_path, "0::/\n", {}, mount=V1_MOUNT))


BOUNDS = st.integers(0, 2**50) | st.just("max")


@given(st.lists(BOUNDS, max_size=5))
def test_the_tightest_limit_is_the_smallest_number(bounds: list[Bound]) -> None:
    numbers = [bound for bound in bounds if bound != "max"]
    assert tightest(*bounds) == (min(numbers) if numbers else "max")


@given(st.lists(st.tuples(BOUNDS, BOUNDS, st.none() | st.integers(0, 2**50)), min_size=1, max_size=5))
def test_another_level_never_loosens_a_limit(rows: list[tuple[Bound, Bound, int | None]]) -> None:
    levels = [Level(f"/{i}", maximum, high, "max", current) for i, (maximum, high, current) in enumerate(rows)]
    whole, part = combine(2, levels), combine(2, levels[:1])
    assert tightest(whole.memory_max, part.memory_max) == whole.memory_max
    assert whole.path in {level.path for level in levels}


def test_this_machine() -> None:
    assert read_cgroup(Tree()).version in {1, 2}
