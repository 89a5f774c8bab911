"""A moet-boot that was killed, and the next one, which clears up after it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.scripted_engine import start as scripted
from tests.serve.scripted import Serve, gone, serving, wait_until

pytestmark = pytest.mark.slow


def records() -> list[Path]:
    return list(Path(os.environ["MOET_BOOT_RUNTIME_DIR"]).glob("server-*.json"))


def segments(pids: list[int]) -> set[Path]:
    """What these processes have mapped of shared memory."""
    maps = " ".join(Path(f"/proc/{pid}/maps").read_text() for pid in pids)
    return {Path(word) for word in maps.split() if word.startswith("/dev/shm/psm_")}


def on_record(words: list[str]) -> bool:
    text = "".join(path.read_text() for path in records())
    return bool(words) and all(word in text for word in words)


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[tuple[list[int], set[Path], Serve]]:
    """A server that serves, with everything of it on record: its pids, its segments, its `serve`."""
    with serving(tmp_path, shm=True) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        mapped = segments(pids)
        wait_until(lambda: on_record([*map(str, pids), *map(str, mapped)]))
        yield pids, mapped, run
        for pid in pids:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGKILL)


def test_shared_memory_of_a_killed_moet_boot_is_removed_by_the_next(
    killed: tuple[list[int], set[Path], Serve], tmp_path: Path
) -> None:
    pids, mapped, run = killed
    run.process.kill()
    wait_until(lambda: gone(pids))
    assert mapped
    assert all(path.exists() for path in mapped), "a kill leaves them"
    with serving(tmp_path, "--stop-when-ready") as second:
        note = second.wait_for("note")
        assert second.end()[0] == 0, second.words
    assert note["text"].endswith("of a server whose moet-boot was killed")
    assert not any(path.exists() for path in mapped)
    assert records() == []


def test_boots_in_which_moet_boot_was_killed_spend_the_budget(tmp_path: Path) -> None:
    port = scripted.free_port()
    with serving(tmp_path, port=port, boot_s=60) as run:
        run.wait_for("phase", phase="kv_cache")
        pids = run.engine_pids()
        run.process.kill()
        wait_until(lambda: gone(pids))
    with serving(tmp_path, port=port) as second:
        code, document = second.end()
    assert (code, document["outcome"]) == (7, "refused")
    assert "moet-boot was killed, or the machine went down, in the phase 'KV cache'" in document["reason"]
    with serving(tmp_path, "--retry", "--stop-when-ready", port=port) as third:
        assert third.end()[0] == 0, third.words
    with serving(tmp_path, "--stop-when-ready", port=port) as fourth:
        assert fourth.end()[0] == 0, "one that became ready closes the matter"


def test_workers_that_outlive_all_their_watchers_are_ended_by_the_next(
    killed: tuple[list[int], set[Path], Serve],
) -> None:
    pids, mapped, run = killed
    watchers = [p for p in psutil.Process(run.process.pid).children() if p.name() in {"moet-guard", "moet-leash"}]
    assert len(watchers) == 2
    for process in (*watchers, psutil.Process(run.process.pid)):
        process.suspend()
    for process in (*watchers, psutil.Process(run.process.pid)):
        process.kill()
    run.process.wait()
    stop = subprocess.run([sys.executable, "-m", "moet_boot", "stop"], capture_output=True, text=True, check=False)
    assert stop.returncode == 0, stop.stderr
    assert "process(es) of a server whose moet-boot" in " ".join(stop.stdout.split())
    assert gone(pids)
    assert not any(path.exists() for path in mapped)
    assert records() == []
