"""Orphans of ours: those that carry the launch's token are the server's, all others are nobody's business."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.guard.linux import adopt_orphans
from moet_boot.launch.process_tree import TOKEN_VARIABLE, ServerTree

TOKEN = "0123456789abcdef"
DAEMON = "setsid /bin/sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'"
"""Prints the pid of a sleeper whose parents are gone and whose session is its own."""


def run_daemon(token: str) -> int:
    """The pid of an orphan that became our child."""
    assert adopt_orphans() == 0
    shell = subprocess.run(
        ["/bin/sh", "-c", DAEMON], env={**os.environ, TOKEN_VARIABLE: token}, stdout=subprocess.PIPE, check=True
    )
    return int(shell.stdout)


@pytest.fixture
def root() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def tree(root: subprocess.Popen[bytes]) -> Iterator[ServerTree]:
    made = ServerTree(root.pid, TOKEN)
    yield made
    made.close()


def pids(tree: ServerTree) -> set[int]:
    return {process.pid for process in tree.processes()}


def end(pid: int) -> None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def test_an_orphan_with_the_token_is_a_member(tree: ServerTree, root: subprocess.Popen[bytes]) -> None:
    orphan = run_daemon(TOKEN)
    assert pids(tree) == {root.pid, orphan}
    assert tree.kill(5) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(orphan, 0)  # collected


@pytest.mark.parametrize("token", ["another-launch", "", TOKEN[:-1], TOKEN + "0"])
def test_an_orphan_of_anybody_else_is_not(tree: ServerTree, root: subprocess.Popen[bytes], token: str) -> None:
    orphan = run_daemon(token)
    assert pids(tree) == {root.pid}
    assert tree.kill(5) == []
    assert Path(f"/proc/{orphan}").exists()
    end(orphan)


def test_term_goes_to_the_first_process_alone_while_it_lives(tree: ServerTree, root: subprocess.Popen[bytes]) -> None:
    orphan = run_daemon(TOKEN)
    assert bool(tree.leader_lives)
    assert tree.ask_to_end() == 1
    root.wait()
    assert pids(tree) == {orphan}
    assert not bool(tree.leader_lives)
    assert tree.ask_to_end() == 1
    deadline = time.monotonic() + 30
    while pids(tree):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert tree.ask_to_end() == 0


def test_who_cannot_be_killed_is_named_after_the_timeout(
    tree: ServerTree, root: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process in the kernel's hands (state D) would be: signals are sent and nothing happens."""
    monkeypatch.setattr("signal.pidfd_send_signal", lambda *_: None)
    times = iter(range(100))
    survivors = tree.kill(3, lambda: float(next(times)), lambda _seconds: None)
    assert [process.pid for process in survivors] == [root.pid]
