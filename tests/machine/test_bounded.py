import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moet_boot.machine import bounded
from moet_boot.machine.bounded import output_of_module, result_by, start_reading
from moet_boot.machine.tree import UnreadError


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    (folder / "probe_module.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return "probe_module"


def test_a_result() -> None:
    assert result_by(start_reading(lambda: 42), 5.0, 5.0) == 42


def test_a_failure_is_raised_where_the_result_is_asked_for() -> None:
    def broken() -> None:
        raise FileNotFoundError(2, "No such file")

    future = start_reading(broken)
    with pytest.raises(FileNotFoundError):
        result_by(future, 5.0, 5.0)


def test_a_failure_that_is_a_timeout_of_its_own_is_not_ours() -> None:
    def slow_disk() -> None:
        raise TimeoutError(110, "Connection timed out")

    with pytest.raises(TimeoutError, match="Connection timed out"):
        result_by(start_reading(slow_disk), 5.0, 5.0)


@pytest.mark.parametrize("wait_s", [0.01, 0.0, -3.0])
def test_a_reading_that_hangs(wait_s: float) -> None:
    forever = threading.Event()
    future = start_reading(forever.wait)
    with pytest.raises(UnreadError, match="no answer in 3 s"):
        result_by(future, wait_s, 3.0)
    assert not future.done()
    forever.set()


def test_a_hanging_reading_does_not_keep_the_process_from_ending() -> None:
    code = "from moet_boot.machine.bounded import start_reading; import time; start_reading(lambda: time.sleep(60))"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=30)  # half of what the reading takes
    assert done.returncode == 0


def test_the_output_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "import moet_boot; print(moet_boot.__version__)")
    monkeypatch.chdir(tmp_path)
    assert output_of_module(name, 20).strip()


@pytest.mark.parametrize(
    ("code", "named"),
    [
        pytest.param("raise SystemExit('no driver')", "no driver", id="message"),
        pytest.param("import os; os._exit(5)", "ended with 5: without a word", id="silent"),
        pytest.param("import os; os.kill(os.getpid(), 11)", "ended with -11", id="crash-in-a-library"),
    ],
)
def test_a_module_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, named: str) -> None:
    with pytest.raises(UnreadError, match=named):
        output_of_module(module(tmp_path, monkeypatch, code), 20)


def test_a_module_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(UnreadError, match=r"no answer in 0\.2 s"):
        output_of_module(name, 0.2)


def test_a_module_stuck_in_the_kernel_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck: list[subprocess.Popen[str]] = []

    def no_kill(process: subprocess.Popen[str]) -> None:
        stuck.append(process)

    name = module(tmp_path, monkeypatch, "import time; time.sleep(60)")
    monkeypatch.setattr(subprocess.Popen, "kill", no_kill)
    monkeypatch.setattr(bounded, "GRACE_S", 0.05)
    with pytest.raises(UnreadError, match="no answer"):
        output_of_module(name, 0.1)
    monkeypatch.undo()
    (process,) = stuck
    process.returncode = None
    assert process.poll() is None, "it was not waited for"
    process.kill()
    process.communicate()
