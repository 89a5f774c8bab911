from pathlib import Path

import pytest

from moet_boot.machine.pressure import parse_stall, read_pressure
from moet_boot.machine.tree import UnreadError
from tests.machine.trees import tree_of

THRASH = """\
some avg10=71.20 avg60=55.00 avg300=20.11 total=88331122
full avg10=47.30 avg60=38.10 avg300=12.00 total=55331122
"""
QUIET = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def test_a_thrashing_machine(tmp_path: Path) -> None:
    pressure = read_pressure(tree_of(tmp_path, {"/proc/pressure/memory": THRASH, "/proc/pressure/io": QUIET}))
    assert pressure.memory is not None
    assert (pressure.memory.some_avg10, pressure.memory.full_avg10) == (71.2, 47.3)
    assert (pressure.memory.some_avg60, pressure.memory.full_avg60) == (55.0, 38.1)
    assert pressure.io is not None
    assert pressure.io.full_avg10 == 0.0


def test_only_some_is_known_of_older_kernels() -> None:
    assert parse_stall("some avg10=1.50 avg60=0.10 avg300=0.00 total=5").full_avg10 == 0.0


def test_memory_alone_is_enough(tmp_path: Path) -> None:
    assert read_pressure(tree_of(tmp_path, {"/proc/pressure/memory": QUIET})).io is None


def test_a_kernel_without_psi(tmp_path: Path) -> None:
    with pytest.raises(UnreadError, match="offers no pressure figures"):
        read_pressure(tree_of(tmp_path, {}))


@pytest.mark.parametrize("text", ["", "full avg10=1.0", "some", "some avg10=x", "\n\n", "none avg10=0.00"])
def test_a_text_without_figures(text: str) -> None:
    with pytest.raises(UnreadError, match="some avg10"):
        parse_stall(text)
