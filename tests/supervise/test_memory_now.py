from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pynvml
import pytest

from moet_boot.machine.tree import Tree
from moet_boot.supervise.memory_now import MachineMemory
from testing.waiting import wait_for


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


class FakeGpu:
    """NVML's answers, one a question; a question waits while `goes_on` is not set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: int | Exception, patience_s: float = 30) -> None:
        monkeypatch.setattr("moet_boot.supervise.memory_now.ANSWER_S", patience_s)
        self.answers, self.asked = list(answers), 0
        self.goes_on = Event()
        self.goes_on.set()
        monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
        monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", lambda index: index)
        monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", self.info)

    def info(self, _handle: object) -> SimpleNamespace:
        self.asked += 1
        assert self.goes_on.wait(30)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(used=answer)


def test_vram_in_use_is_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeGpu(monkeypatch, 5, 7)
    memory = MachineMemory(0)
    assert [memory.gpu_used_bytes(), memory.gpu_used_bytes()] == [5, 7]


def test_a_gpu_that_fails_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST), 7)
    memory = MachineMemory(0)
    assert [memory.gpu_used_bytes(), memory.gpu_used_bytes()] == [None, None]
    assert gpu.asked == 1


def test_a_driver_that_hangs_holds_nobody_up_and_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, 5, 7, patience_s=0.01)
    gpu.goes_on.clear()
    memory = MachineMemory(0)
    assert [memory.gpu_used_bytes() for _ in range(3)] == [None] * 3
    assert gpu.answers == [5, 7], "it still waits for the first answer"
    gpu.goes_on.set()
    wait_for(lambda: memory.gpu_used_bytes() == 5)
    wait_for(lambda: memory.gpu_used_bytes() == 7)
    assert gpu.asked == 2


def test_a_gpu_that_is_not_there_has_no_figure() -> None:
    assert MachineMemory(gpu_index=4096).gpu_used_bytes() is None
