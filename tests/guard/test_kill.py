"""Killing: all of the tree, at once, and nobody else. With real processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moet_boot.guard.kill import Killer, may_signal
from moet_boot.guard.tree import Tree
from tests.guard.unruly import PATIENCE_S, TREES, named, number, shell, until


@pytest.fixture
def decoys() -> Iterator[int]:
    """Innocent bystanders; their number."""
    n = number()
    with shell("sleep {n} & wait", n), shell("sleep {n} & wait", n, session=False):
        assert until(lambda: len(named(n)) == 4)
        yield n
        assert len(named(n)) == 4, "somebody outside the tree was killed"


def killer_of(pid: int) -> Killer:
    tree = Tree()
    assert tree.add_root(pid)
    tree.refresh()
    return Killer(tree)


@pytest.mark.parametrize("program", [p for name, p in TREES.items() if name != "double fork"], ids=lambda p: p[:24])
def test_a_tree_is_gone_after_a_few_strikes(program: str, decoys: int) -> None:
    n = number()
    with shell(program, n) as root:
        killer = killer_of(root.pid)
        assert until(lambda: len(named(n)) >= 1)
        assert until(lambda: not killer.strike().left)
        assert named(n) == []
        assert killer.ended
        killer.close()


def test_a_tree_that_goes_on_forking(decoys: int) -> None:
    n = number()
    # many more than there is time for, and yet an end: a machine that is busy otherwise must survive this test
    with shell("for i in $(seq 300); do sleep {n} & setsid sleep {n} & done; wait", n) as root:
        killer = killer_of(root.pid)
        assert until(lambda: len(named(n)) > 8)
        killer.watch()
        assert until(lambda: not killer.strike().left)
        assert named(n) == []
        killer.close()


def test_the_first_strike_does_not_wait_for_a_look_around(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_args: object) -> None:
        raise AssertionError("a look around before the first strike")

    n = number()
    with shell("exec sleep {n}", n) as root:
        killer = killer_of(root.pid)
        monkeypatch.setattr(killer.tree, "refresh", unexpected)
        killer._kill_known()
        assert root.wait(PATIENCE_S) == -signal.SIGKILL
        killer.close()


def test_anchors_die_last(monkeypatch: pytest.MonkeyPatch) -> None:
    n = number()
    with shell("sleep {n} & exec sleep {n}", n) as root:
        tree = Tree()
        tree.add_root(root.pid, anchor=True)
        assert until(lambda: len(named(n)) == 2)
        killer = Killer(tree)
        others_then: list[tuple[int, list[int]]] = []
        member = type(tree.members[root.pid])
        send = member.send

        def recorded(self: Any, number: int) -> Any:
            others_then.append((self.process.pid, [m.process.pid for m in tree.alive() if not m.anchor]))
            return send(self, number)

        monkeypatch.setattr(member, "send", recorded)
        assert until(lambda: not killer.strike().left)
        assert root.wait(PATIENCE_S) == -signal.SIGKILL
        assert others_then[0][0] != root.pid
        assert [others for pid, others in others_then if pid == root.pid and others] == []
        tree.close()


def test_terminate_asks_the_first_process_and_leaves_the_rest_to_it() -> None:
    n = number()
    with shell("trap 'exit 3' TERM; sleep {n} & wait", n) as root:
        killer = killer_of(root.pid)
        assert until(lambda: len(named(n)) == 2)
        assert killer.terminate() == 1
        assert root.wait(PATIENCE_S) == 3
        assert not killer.ended
        assert killer.terminate() == 1, "then whoever is left"
        assert until(lambda: killer.ended)
        killer.close()


def test_a_group_is_killed_first_and_counts_as_long_as_somebody_is_in_it() -> None:
    class FakeGroup:
        def __init__(self) -> None:
            self.kills = 0

        def kill(self) -> bool:
            self.kills += 1
            return True

        def pids(self) -> list[int]:
            return [] if self.kills > 2 else [4_000_000]

    group = FakeGroup()
    killer = Killer(Tree(), group)
    assert killer.strike().left == (4_000_000,)
    assert not killer.ended
    killer.strike()
    assert killer.strike().left == ()
    assert killer.ended


def test_a_dead_target_needs_no_strike() -> None:
    with shell("exec sleep {n}", number()) as process:
        killer = killer_of(process.pid)
        process.kill()
        assert until(lambda: killer.ended)
        assert killer.strike().left == ()
        killer.close()


def test_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_signal(os.getpid())
    assert may_signal(2**22 + 1), "nobody is nobody's to forbid"

    def forbidden(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", forbidden)
    assert not may_signal(os.getpid())


def test_nothing_on_the_way_to_a_kill_starts_a_process_or_asks_a_daemon() -> None:
    """Read in the source: the guard process imports neither."""
    folder = Path(__file__).parent.parent.parent / "moet_boot" / "guard"
    seen, todo = set(), ["process"]
    while todo:
        name = todo.pop()
        seen.add(name)
        text = (folder / f"{name}.py").read_text()
        imported = [
            line.split()[1] for line in text.splitlines() if line.startswith(("from moet_boot.guard", "import "))
        ]
        assert not {"subprocess", "docker", "pynvml", "psutil", "pydantic"} & set(imported), name
        todo += [m.removeprefix("moet_boot.guard.") for m in imported if m.startswith("moet_boot.guard.")]
        if "from moet_boot.guard import linux" in text:
            todo.append("linux")
        todo = [m for m in todo if m not in seen]
    assert {"watch", "kill", "tree", "linux", "sampler"} <= seen
