from pathlib import Path

import pytest

from moet_boot.machine.tree import Tree
from moet_boot.supervise.memory_now import MachineMemory


def machine(folder: Path, meminfo: str) -> MachineMemory:
    (folder / "proc").mkdir()
    (folder / "proc" / "meminfo").write_text(meminfo)
    return MachineMemory(tree=Tree(folder))


def test_available_memory_is_in_bytes(tmp_path: Path) -> None:
    memory = machine(tmp_path, "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 50 kB\n")
    assert memory.available_bytes() == 50 * 1024


@pytest.mark.parametrize(
    "text", ["", "garbage", "MemTotal: 100 kB\nMemFree: 10 kB\n"], ids=["empty", "garbage", "old kernel"]
)
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    assert machine(tmp_path, text).available_bytes() is None


def test_a_machine_without_proc_is_unknown(tmp_path: Path) -> None:
    assert MachineMemory(tree=Tree(tmp_path)).available_bytes() is None


def test_a_gpu_that_is_not_there_has_no_figure() -> None:
    assert MachineMemory(gpu_index=4096).gpu_used_bytes() is None
