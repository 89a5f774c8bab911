"""The figures of the guard's benchmark; the benchmark itself needs a quiet machine and earlyoom."""

import importlib.util
import os
import time
from pathlib import Path
from types import ModuleType

import pytest

from moet_boot.guard.fall_record import FallRecord
from moet_boot.guard.sampler import Sampler
from moet_boot.units import GIB, from_gib

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "bench_guard.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_guard", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fall(under_gib: float, late_s: float, *, killed: bool = True) -> FallRecord:
    return FallRecord(killed, 0, from_gib(under_gib), under_gib > 0, late_s, 2.5 * GIB, 1.0)


def test_a_row(bench: ModuleType) -> None:
    row = bench.row("us", [fall(0.0, 0.05), fall(0.02, 0.07), fall(0.3, 0.5, killed=False)])
    assert row.markdown() == "| us | 2/3 | 2/3 | 0.020 / 0.300 | 70 / 500 | 2.5-2.5 |"
    assert bench.HEAD.splitlines()[1].count("|") == row.markdown().count("|")


def test_a_machine_with_too_little_memory_is_left_alone(bench: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="too little for a fall"):
        bench.fall(Sampler(time.monotonic), "moet-boot guard", 1 << 50, 0, tmp_path)


def test_a_run_in_which_nothing_happened_is_done_again(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    falls = iter([fall(0, 0.1, killed=False), fall(0, 0.1)])
    monkeypatch.setattr(bench, "fall", lambda *_: next(falls))
    assert bench.fall_to_the_floor(None, "earlyoom", 1, tmp_path).killed
    assert capsys.readouterr().err.count("again") == 1


def test_earlyoom_missing(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["bench_guard.py"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit, match="apt-get install earlyoom"):
        bench.main()


def test_cpu_time_of_a_process(bench: ModuleType) -> None:
    before = bench.cpu_seconds(os.getpid())
    sum(range(300_000))
    assert bench.cpu_seconds(os.getpid()) > before
