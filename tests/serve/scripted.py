"""A `moet-boot serve` as a real process around the scripted engine, for tests of the whole path."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from moet_boot.receipts.model import Receipt
from moet_boot.receipts.store import ReceiptStore
from tests.scripted_engine import start as scripted

DATA = Path(__file__).parents[1] / "data"
DEADLINES = ("starting", "loading_weights", "planes", "profiling", "kv_cache", "graph_capture", "warm_up")


def write_profile(
    folder: Path, port: int, *, deadline_s: float = 30, budget: int = 0, floors: dict[str, float] | None = None
) -> Path:
    """A profile of the scripted engine on a port, extending the demo; returns its path."""
    model = folder / "model"
    if not model.exists():
        shutil.copytree(DATA / "golden" / "iv_ckpt", model)
    command = [sys.executable, "-S", "-E", str(scripted.PROGRAM), "serve"]
    guard = {"hard_floor_gib": 0.2, "serving_floor_gib": 0.2, "serving_hard_floor_gib": 0.1} | (floors or {})
    why = 'why = "a test"\nsource = "tests"\n'
    lines = [
        'schema = "moet-boot/profile/v1"',
        'extends = "demo"',
        'name = "scripted"',
        f'[engine]\ncommand = {json.dumps(command)}\nport = {port}\nserved_name = "{scripted.MODEL}"',
        f'[flags."--port"]\nvalue = {port}',
        f'[flags."--served-model-name"]\nvalue = "{scripted.MODEL}"',
        f'[artefacts.checkpoint]\npath = "{model}"',
        "[guard]\n" + "\n".join(f"{name} = {value}" for name, value in guard.items()),
        f"[restart]\nbudget = {budget}\nbackoff_s = 0.2\nbackoff_max_s = 0.4\nwindow_s = 600\n{why}",
        *[f"[deadlines.{phase}]\nseconds = {deadline_s}" for phase in DEADLINES],
    ]
    path = folder / "scripted.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Serve:
    """A running `serve --json`; events as they come, the document and the exit code at the end."""

    def __init__(self, folder: Path, profile: str, port: int, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        self.port = port
        self._log = folder / f"serve-{time.monotonic_ns()}.ndjson"
        with self._log.open("wb") as talk:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moet_boot", "serve", "--profile", profile, "--json", *arguments],
                stdout=subprocess.PIPE,
                stderr=talk,
                env={**os.environ, **env},
            )

    @property
    def talk(self) -> str:
        """Everything on stderr so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def words(self) -> str:
        """The end of what it said, for a failed assertion."""
        return self.talk[-1500:]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events so far; a line that is not whole yet is none."""
        whole = self.talk.rpartition("\n")[0]
        rows = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [row for row in rows if row["schema"] == "moet-boot/serve-event/v1"]

    def wait_for(self, event: str, **facts: object) -> dict[str, Any]:
        """Wait until an event came."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [e for e in self.events if e["event"] == event and facts.items() <= e.items()]
            return bool(found) or self.process.poll() is not None

        wait_until(there)
        assert found, f"serve ended without {event} {facts}: {self.words}"
        return found[-1]

    def wait_for_ready(self, start: int) -> None:
        """Wait until the server was ready so many times, restarts counted."""

        def times() -> int:
            return sum(event["event"] == "ready" for event in self.events)

        wait_until(lambda: times() >= start or self.process.poll() is not None)
        assert times() == start, f"it was ready {times()} times: {self.words}"

    def engine_pids(self) -> list[int]:
        """All processes below this serve, the guard and the leash apart."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [p.pid for p in below if p.name() not in {"moet-guard", "moet-leash"}]

    def end(self, timeout_s: float = 120) -> tuple[int, dict[str, Any]]:
        """Wait for the end; the exit code and the document."""
        out, _ = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, json.loads(out) if out else {}

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, dict[str, Any]]:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.end()


@contextmanager
def serving(folder: Path, *arguments: str, port: int | None = None, **knobs: Any) -> Iterator[Serve]:
    """A serve of the scripted engine; it is killed at the end of the test, with everything below it."""
    profile_options = {k: knobs.pop(k) for k in ("deadline_s", "budget", "floors") if k in knobs}
    chosen = port or scripted.free_port()
    profile = write_profile(folder, chosen, **profile_options)
    with running(Serve(folder, str(profile), chosen, arguments, scripted.environment(**knobs))) as run:
        yield run


@contextmanager
def running(run: Serve) -> Iterator[Serve]:
    """A serve that does not outlive the block, nor anything below it."""
    try:
        yield run
    finally:
        if run.process.poll() is None:
            for process in psutil.Process(run.process.pid).children(recursive=True):
                process.kill()
            run.process.kill()
        run.process.communicate()


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Look again and again until it holds; fails when it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def gone(pids: list[int]) -> bool:
    """Whether none of these processes lives any more."""
    return not any(psutil.pid_exists(p) and psutil.Process(p).status() != psutil.STATUS_ZOMBIE for p in pids)


def last_receipt() -> Receipt:
    """The newest receipt of this test."""
    return ReceiptStore().read("last")
