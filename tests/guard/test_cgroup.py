"""Control groups: real ones where this machine lets us make them, and folders that look like them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.guard import cgroup as cgroup_module
from moet_boot.guard.cgroup import Cgroup, create_cgroup, find_cgroup, group_pids, remove_cgroup
from moet_boot.guard.kill import Killer
from moet_boot.guard.tree import Tree
from tests.guard.unruly import TREES, after, named, number, shell, until


def hierarchies() -> list[tuple[str, Path]]:
    """Those in which this process may make a group: `v2`, `freezer`, both or none."""
    found = []
    for kind, mount in cgroup_module._hierarchies():
        own = cgroup_module._group_of("self", kind)
        if own is not None and os.access(mount / own.lstrip("/"), os.W_OK):
            found.append((kind, mount / own.lstrip("/")))
    return found


REAL = hierarchies()
"""Empty on a machine without rights: then only the folders that look like groups are tested."""


@pytest.fixture(params=REAL, ids=lambda pair: pair[0])
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A real, empty group."""
    _, parent = request.param
    path = parent / f"guard-test-{os.getpid()}-{number()}"
    path.mkdir()
    yield path
    assert until(lambda: remove_cgroup(path)), "a process that is still dying keeps its group"


def enter(path: Path, pid: int) -> None:
    (path / "cgroup.procs").write_text(str(pid))


class TestRealGroups:
    @pytest.mark.parametrize("program", TREES.values(), ids=TREES.keys())
    def test_everybody_in_it_dies_and_nobody_else(self, group: Path, program: str, tmp_path: Path) -> None:
        n, decoy, go = number(), number(), tmp_path / "go"
        with shell("sleep {n} & wait", decoy), shell(after(go, program), n) as root:
            enter(group, root.pid)
            go.touch()
            assert until(lambda: len(group_pids(group)) >= 1 and len(named(n)) >= 1 and len(named(decoy)) == 2)
            opened = Cgroup(group)
            killer = Killer(Tree(), opened)
            assert until(lambda: not killer.strike().left)
            assert named(n) == []
            assert len(named(decoy)) == 2
            assert root.wait(30) == -signal.SIGKILL
            opened.close()

    def test_a_group_below_it_dies_too(self, group: Path) -> None:
        inner = group / "inner"
        inner.mkdir()
        with shell("exec sleep {n}", number()) as root:
            enter(inner, root.pid)
            assert group_pids(group) == [root.pid]
            opened = Cgroup(group)
            assert opened.kill()
            assert root.wait(30) == -signal.SIGKILL
            opened.close()
        assert until(lambda: remove_cgroup(inner))

    def test_our_own_group_is_refused(self, group: Path) -> None:
        with shell("exec sleep {n}", number()) as root:
            enter(group, root.pid)
            with pytest.raises(MoetBootError, match=rf"holds processes that must live \(pids \[{root.pid}\]\)"):
                Cgroup(group, keep=(root.pid,))

    def test_an_inhabited_group_stays(self, group: Path) -> None:
        with shell("exec sleep {n}", number()) as root:
            enter(group, root.pid)
            assert not remove_cgroup(group)

    def test_an_empty_group_can_be_killed(self, group: Path) -> None:
        opened = Cgroup(group)
        assert opened.kill()
        assert opened.pids() == []
        opened.close()


def test_a_group_of_our_own_making() -> None:
    path = create_cgroup(f"guard-test-{os.getpid()}")
    assert (path is None) == (not REAL)
    if path is not None:
        Cgroup(path).close()
        assert create_cgroup(path.name) != path, "it exists already: never taken over"
        assert remove_cgroup(path)
        for _, parent in REAL:
            remove_cgroup(parent / path.name)


class TestFolders:
    """What is read and written, on folders that only look like groups."""

    def test_v2_is_killed_by_one_write(self, tmp_path: Path) -> None:
        (tmp_path / "cgroup.procs").write_text("")
        (tmp_path / "cgroup.kill").write_text("")
        group = Cgroup(tmp_path)
        assert group.kill()
        assert (tmp_path / "cgroup.kill").read_text() == "1"
        group.close()

    def test_v1_is_frozen_and_thawed(self, tmp_path: Path) -> None:
        (tmp_path / "cgroup.procs").write_text("")
        (tmp_path / "freezer.state").write_text("")
        group = Cgroup(tmp_path)
        assert group.kill()
        assert (tmp_path / "freezer.state").read_text() == "FROZENTHAWED"
        group.close()

    def test_v1_is_thawed_whatever_happens(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "cgroup.procs").write_text("")
        (tmp_path / "freezer.state").write_text("")
        group = Cgroup(tmp_path)

        looks: list[Path] = []

        def fails(path: Path) -> list[int]:
            looks.append(path)
            if len(looks) > 1:
                raise PermissionError(1, "Operation not permitted")
            return []

        monkeypatch.setattr(cgroup_module, "group_pids", fails)
        assert not group.kill()
        assert (tmp_path / "freezer.state").read_text() == "FROZENTHAWED"
        group.close()

    def test_a_folder_that_is_no_group(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match=r"neither cgroup.kill nor freezer.state"):
            Cgroup(tmp_path)

    def test_a_group_that_may_not_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "cgroup.kill").mkdir()
        with pytest.raises(MoetBootError, match=r"cannot write .*cgroup.kill"):
            Cgroup(tmp_path)

    @pytest.mark.parametrize("pid", ["1", str(os.getpid())], ids=["init", "this process"])
    def test_a_group_with_somebody_who_must_live(self, tmp_path: Path, pid: str) -> None:
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner" / "cgroup.procs").write_text(pid)
        (tmp_path / "cgroup.kill").write_text("")
        with pytest.raises(MoetBootError, match="must live"):
            Cgroup(tmp_path)

    def test_no_group_has_nobody(self, tmp_path: Path) -> None:
        assert group_pids(tmp_path / "gone") == []
        assert not remove_cgroup(tmp_path / "gone")


class TestContainers:
    ID = "3b7f5c37383d14de10292a1896915b5c"

    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str) -> Path:
        path = tmp_path / group.lstrip("/")
        path.mkdir(parents=True)
        (path / "cgroup.kill").touch()
        (tmp_path / "cgroup.kill").touch()
        monkeypatch.setattr(cgroup_module, "_hierarchies", lambda: [("v2", tmp_path)])
        monkeypatch.setattr(cgroup_module, "_group_of", lambda pid, kind: group)
        return path

    @pytest.mark.parametrize("group", [f"/system.slice/docker-{ID}.scope", f"/docker/{ID}", f"/kubepods/x/{ID}"])
    def test_is_found_by_its_id(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str) -> None:
        path = self.machine(tmp_path, monkeypatch, group)
        assert find_cgroup(7, self.ID) == path

    def test_is_found_above_a_group_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = self.machine(tmp_path, monkeypatch, f"/docker/{self.ID}/init")
        (path / "cgroup.kill").unlink()
        (path.parent / "cgroup.kill").touch()
        assert find_cgroup(7, self.ID) == path.parent

    @pytest.mark.parametrize("group", ["/", "/system.slice/docker.service", "/docker/another"])
    def test_other_groups_are_never_taken_for_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str
    ) -> None:
        (tmp_path / "m").mkdir()
        self.machine(tmp_path / "m", monkeypatch, group if group != "/" else "/x")
        monkeypatch.setattr(cgroup_module, "_group_of", lambda pid, kind: group)
        assert find_cgroup(7, self.ID) is None
        assert find_cgroup(7, "") is None

    def test_a_process_that_is_gone(self) -> None:
        assert find_cgroup(2**22 + 1, self.ID) is None
