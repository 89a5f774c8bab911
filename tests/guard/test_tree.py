"""Who belongs to the server, and above all who does not."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from moet_boot.guard import tree as tree_module
from moet_boot.guard.processes import Process, read_process
from moet_boot.guard.tree import Member, Tree, hold
from tests.guard.unruly import TREES, named, number, shell, until


@pytest.fixture
def tree() -> Iterator[Tree]:
    made = Tree()
    yield made
    made.close()


def pids(tree: Tree) -> set[int]:
    return {member.process.pid for member in tree.alive()}


def sleepers(n: int) -> set[int]:
    return {pid for pid in named(n) if (found := read_process(pid)) and found.name == "sleep"}


@pytest.mark.parametrize("program", [p for name, p in TREES.items() if name != "double fork"], ids=lambda p: p[:24])
def test_everybody_below_is_found(tree: Tree, program: str) -> None:
    n = number()
    with shell(program, n) as root:
        assert tree.add_root(root.pid)
        assert until(lambda: tree.refresh() is not None and len(named(n)) >= 1 and set(named(n)) <= pids(tree))
        assert os.getpid() not in pids(tree)
        assert os.getppid() not in pids(tree)


def test_who_was_seen_once_is_not_lost_when_its_parents_die(tree: Tree) -> None:
    n = number()
    with shell("sh -c 'setsid sleep {n} & wait' {n} & wait", n) as root:
        tree.add_root(root.pid)
        assert until(lambda: tree.refresh() is not None and (found := sleepers(n)) and found <= pids(tree))
        (sleeper,) = sleepers(n)
        root.kill()
        root.wait()
        tree.refresh()
        assert sleeper in pids(tree)


def test_a_session_is_still_ours_when_its_leader_is_dead(tree: Tree) -> None:
    n = number()
    with shell("sleep {n} & sleep {n} & wait", n) as root:
        tree.add_root(root.pid)
        assert until(lambda: len(named(n)) == 3)
        root.kill()
        assert until(lambda: not tree.members[root.pid].alive)
        # nobody but the root was known, and the others have other parents now; only the session tells
        tree.refresh()
        assert pids(tree) == set(named(n))
        assert len(pids(tree)) == 2


def test_decoys_are_left_alone(tree: Tree) -> None:
    """Brothers, processes of the same name, of the same session as the supervisor, and of an emptied session."""
    n, decoy = number(), number()
    with (
        shell("sleep {n} & wait", n) as root,
        shell("sleep {n} & wait", decoy),
        shell("sleep {n} & wait", decoy, session=False),
        shell("exec sleep {n}", decoy),
    ):
        tree.add_root(root.pid)
        assert until(lambda: len(named(n)) == 2 and len(named(decoy)) == 5)
        tree.refresh()
        tree.refresh(everybody=True)
        assert pids(tree) == set(named(n))


def test_the_guard_itself_and_those_named_are_never_part_of_it() -> None:
    with shell("sleep {n} & wait", number()) as other:
        tree = Tree(never=(other.pid,))
        assert not tree.add_root(other.pid)
        assert not tree.add_root(os.getpid())
        assert not tree.add_root(1)
        assert not tree.add_root(0)
        assert not tree.add_root(-1)
        assert tree.members == {}


def test_never_holds_for_children_of_members_too() -> None:
    n = number()
    with shell("sleep {n} & wait", n) as root:
        assert until(lambda: len(named(n)) == 2)
        (child,) = set(named(n)) - {root.pid}
        tree = Tree(never=(child,))
        tree.add_root(root.pid)
        tree.refresh()
        assert pids(tree) == {root.pid}
        tree.close()


def test_a_reused_pid_is_somebody_else() -> None:
    with shell("exec sleep {n}", number()) as process:
        assert until(lambda: read_process(process.pid) is not None)
        found = read_process(process.pid)
        assert found is not None
        assert hold(process.pid, found.start + 1) is None
        member = hold(process.pid, found.start)
        assert member is not None
        os.close(member.pidfd)


def test_a_signal_cannot_reach_a_successor() -> None:
    """The pidfd of a dead process signals nobody, whoever has its pid by now."""
    process = subprocess.Popen(["sleep", "60"])
    member = hold(process.pid, None)
    assert member is not None
    process.kill()
    process.wait()
    assert not member.alive
    assert not member.send(signal.SIGKILL)
    os.close(member.pidfd)


def test_zombies_and_the_dead_are_not_held() -> None:
    process = subprocess.Popen(["true"])
    assert until(lambda: (p := read_process(process.pid)) is None or p.state == "Z")
    assert hold(process.pid, None) is None
    process.wait()
    assert hold(process.pid, None) is None


def test_a_process_is_not_held_if_it_ended_while_it_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["sleep", "60"])

    def dies(pid: int) -> Process | None:
        found = read_process(pid)
        process.kill()
        process.wait()
        return found

    monkeypatch.setattr(tree_module, "read_process", dies)
    assert hold(process.pid, None) is None


class FakeProc:
    """A /proc of our own making, where pids are reused at will."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.table: dict[int, Process] = {}
        monkeypatch.setattr(tree_module, "list_pids", lambda: list(self.table))
        monkeypatch.setattr(tree_module, "read_process", self.table.get)
        monkeypatch.setattr(tree_module, "hold", self.hold)
        monkeypatch.setattr(os, "close", lambda _: None)
        monkeypatch.setattr(
            Member, "alive", property(lambda member: self.table.get(member.process.pid) == member.process)
        )

    def put(self, pid: int, ppid: int, session: int, start: int) -> None:
        self.table[pid] = Process(pid, "x", "S", ppid, session, session, start)

    def hold(self, pid: int, start: int | None, *, root: bool = False, anchor: bool = False) -> Member | None:
        process = self.table.get(pid)
        return Member(process, -1, root, anchor) if process and start in {None, process.start} else None


class TestReusedNumbers:
    def tree(self, proc: FakeProc) -> Tree:
        proc.put(100, ppid=50, session=100, start=1)
        proc.put(101, ppid=100, session=100, start=2)
        tree = Tree()
        tree.add_root(100)
        tree.refresh()
        assert set(tree.members) == {100, 101}
        return tree

    def test_a_stranger_with_the_pid_of_a_dead_member_has_no_children_of_ours(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        proc = FakeProc(monkeypatch)
        tree = self.tree(proc)
        proc.put(101, ppid=9, session=9, start=77)
        proc.put(102, ppid=101, session=9, start=78)
        tree.refresh()
        assert set(tree.members) == {100}

    def test_a_session_number_that_was_given_away_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proc = FakeProc(monkeypatch)
        tree = self.tree(proc)
        del proc.table[101]
        proc.put(100, ppid=9, session=100, start=77)  # everybody is dead, and 100 leads a session of its own
        proc.put(103, ppid=100, session=100, start=78)
        tree.refresh()
        assert tree.members == {}

    def test_a_session_number_whose_new_leader_is_dead_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proc = FakeProc(monkeypatch)
        tree = self.tree(proc)
        proc.table.clear()
        proc.put(103, ppid=1, session=100, start=78)
        tree.refresh()
        assert tree.members == {}

    def test_a_member_that_left_the_session_proves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proc = FakeProc(monkeypatch)
        tree = self.tree(proc)
        del proc.table[100]
        member = proc.table[101]
        monkeypatch.setattr(Member, "alive", property(lambda m: m.process.pid == 101))
        proc.table[101] = Process(101, "x", "S", 1, 101, 101, member.start)  # setsid
        proc.put(103, ppid=1, session=100, start=78)
        tree.refresh()
        assert set(tree.members) == {101}

    def test_a_brother_in_a_session_that_a_living_member_is_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proc = FakeProc(monkeypatch)
        tree = self.tree(proc)
        del proc.table[100]
        proc.put(103, ppid=1, session=100, start=78)
        tree.refresh()
        assert set(tree.members) == {101, 103}
