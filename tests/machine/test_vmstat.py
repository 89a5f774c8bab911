from pathlib import Path

import pytest

from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.machine.vmstat import INTERVAL_S, parse_counters, read_vmstat, vmstat_between
from tests.machine.trees import tree_of

TEXT = """\
nr_free_pages 5655048
allocstall_dma32 10
allocstall_normal 880000
allocstall_movable 5
pgmajfault 1000
oom_kill 3
compact_stall 2700000
compact_fail 1350000
"""


class Machine:
    """A machine whose major faults grow while its reader sleeps."""

    def __init__(self, folder: Path, faults: int) -> None:
        self.tree, self.faults, self.now = tree_of(folder, {"/proc/vmstat": TEXT}), faults, 50.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        tree_of(self.tree.root, {"/proc/vmstat": TEXT.replace("pgmajfault 1000", f"pgmajfault {1000 + self.faults}")})

    def clock(self) -> float:
        return self.now


def test_counters_and_the_rate_of_major_faults(tmp_path: Path) -> None:
    machine = Machine(tmp_path, faults=840)
    vmstat = read_vmstat(machine.tree, sleep=machine.sleep, clock=machine.clock)
    assert vmstat.pgmajfault_per_s == pytest.approx(840 / INTERVAL_S)
    assert (vmstat.compact_stall, vmstat.compact_fail, vmstat.oom_kill) == (2700000, 1350000, 3)
    assert vmstat.allocstall_normal == 880015


def test_a_quiet_machine_has_a_rate_of_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, faults=0)
    assert read_vmstat(machine.tree, sleep=machine.sleep, clock=machine.clock).pgmajfault_per_s == 0.0


def test_counters_that_a_kernel_lacks() -> None:
    vmstat = vmstat_between({"pgmajfault": 5}, {"pgmajfault": 5}, 1.0)
    assert (vmstat.compact_fail, vmstat.oom_kill) == (0, None)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_clock_that_stands_still_gives_no_rate(seconds: float) -> None:
    assert vmstat_between({"pgmajfault": 5}, {"pgmajfault": 9}, seconds).pgmajfault_per_s == 0.0


def test_a_counter_that_wrapped_gives_no_rate() -> None:
    assert vmstat_between({"pgmajfault": 9}, {"pgmajfault": 5}, 1.0).pgmajfault_per_s == 0.0


@pytest.mark.parametrize("text", ["", "pgmajfault", "pgmajfault many", "a b c"])
def test_a_text_that_is_no_vmstat(text: str) -> None:
    with pytest.raises(UnreadError, match="pgmajfault"):
        parse_counters(text)


def test_this_machine() -> None:
    naps = iter([1.0, 2.0])
    assert read_vmstat(Tree(), sleep=lambda _: None, clock=lambda: next(naps)).pgmajfault_per_s >= 0.0
