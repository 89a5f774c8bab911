import os
import subprocess
from collections.abc import Iterator

import pytest

from moet_boot.guard.processes import read_process
from moet_boot.machine.supervisor_mark import Owner, is_gone, own_mark, owner_of


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def mark_of(pid: int) -> str:
    process = read_process(pid)
    assert process is not None
    return f"{own_mark().partition(':')[0]}:{pid}:{process.start}"


def test_ours() -> None:
    assert owner_of(own_mark()) is Owner.SELF
    assert own_mark().split(":")[1] == str(os.getpid())


def test_another_one_that_runs(other: "subprocess.Popen[bytes]") -> None:
    assert owner_of(mark_of(other.pid)) is Owner.ALIVE


def test_a_zombie_runs_no_more(other: "subprocess.Popen[bytes]") -> None:
    mark = mark_of(other.pid)
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert owner_of(mark) is Owner.GONE


def test_a_pid_that_was_given_to_somebody_else(other: "subprocess.Popen[bytes]") -> None:
    namespace, pid, start = mark_of(other.pid).split(":")
    assert owner_of(f"{namespace}:{pid}:{int(start) - 1}") is Owner.GONE
    assert owner_of(f"{namespace}:{os.getpid()}:1") is Owner.GONE


def test_one_that_has_ended(other: "subprocess.Popen[bytes]") -> None:
    mark = mark_of(other.pid)
    other.kill()
    other.wait()
    assert owner_of(mark) is Owner.GONE


def test_one_in_another_namespace_cannot_be_judged() -> None:
    namespace, _, rest = own_mark().partition(":")
    boot = namespace.partition(".")[0]
    assert owner_of(f"{boot}.1:{rest}") is Owner.UNSEEN


@pytest.mark.parametrize("boot", ["00000000.", ""], ids=["another start", "a mark without one"])
def test_one_of_another_machine_is_not_gone_because_its_pid_is_not_here(boot: str) -> None:
    """Every machine's first pid namespace has the same inode; a container of an engine elsewhere is somebody's."""
    mark = own_mark().partition(".")[2]
    assert owner_of(f"{boot}{mark}") is Owner.ELSEWHERE
    assert not is_gone(f"{boot}{mark}")


@pytest.mark.parametrize("mark", ["", "x", "a:b:c", "::", "1:-5:2"])
def test_a_text_that_is_no_mark_belongs_to_nobody(mark: str) -> None:
    assert owner_of(mark) is Owner.GONE
