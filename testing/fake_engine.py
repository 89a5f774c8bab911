"""A container engine for tests: its containers are processes of this machine, its answers may be scripted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.docker_engine import ContainerEvent, ContainerState, EngineSilentError, ImageFacts

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
POLITE = (
    "import signal, sys, time\n"
    "signal.signal(15, lambda *_: (print('bye', flush=True), sys.exit(3)))\n"
    "print('up', flush=True)\n"
    "time.sleep(60)"
)


class FakeTime:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class FakeEngine:
    """What `DockerEngine` can do, for one container at a time.

    `answers`: what `find` says next, before the truth. `away`: every request fails. `refuses`: errors by method.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.answers: list[ContainerState | Exception | None] = []
        self.past: list[ContainerEvent] = []
        self.refuses: dict[str, Exception] = {}
        self.away = False
        self.images: dict[str, ImageFacts] = {"vllm-moet-test:1": ImageFacts("amd64", (f"sha256:{1:064x}",))}
        self.calls: list[str] = []
        self.pulled: list[tuple[str, str]] = []
        self.request: ContainerRequest | None = None
        self.existing: ContainerState | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = ""

    def find(self, name: str) -> ContainerState | None:
        self._note("find")
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if self.process is None:
            return self.existing
        code = self.process.poll()
        return self._state(code)

    def running_with(self, label: str) -> list[str]:
        self._note("list")
        found = self.existing
        return [found.id] if found and found.running and label in found.labels else []

    def image(self, reference: str) -> ImageFacts | None:
        self._note("image")
        return self.images.get(reference)

    def pull(self, reference: str, arch: str) -> None:
        self._note("pull")
        self.pulled.append((reference, arch))

    def create(self, request: ContainerRequest) -> str:
        self._note("create")
        self.request = request
        return "c1"

    def start(self, container: str) -> None:
        self._note("start")
        assert self.request is not None
        assert self.folder is not None
        self.started_at = datetime.now(UTC).isoformat()
        with (self.folder / "printed").open("wb") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-c", *self.request.command], stdout=printed, stderr=subprocess.STDOUT
            )

    def signal(self, container: str, name: str) -> None:
        self._note(f"signal {name}")
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.Signals[name])

    def remove(self, container: str) -> None:
        self._note("remove")
        self.existing = None
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def logs(self, container: str, since: float | None) -> "FakeLog":
        self._note("logs")
        assert self.folder is not None
        return FakeLog(self, self.folder / "printed")

    def events(self, container: str, since: float, until: float) -> list[ContainerEvent]:
        return self.past

    def close(self) -> None:
        """Nothing to let go of."""

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.away:
            raise EngineSilentError("the container engine does not answer", fix="start it")
        if call in self.refuses:
            raise self.refuses[call]

    def _state(self, code: int | None) -> ContainerState:
        assert self.process is not None
        assert self.request is not None
        return ContainerState(
            id="c1",
            name=self.request.name,
            status="running" if code is None else "exited",
            pid=self.process.pid if code is None else None,
            exit_code=(128 - code if code < 0 else code) if code is not None else 0,
            oom_killed=False,
            error="",
            started_at=self.started_at,
            labels=dict(self.request.labels),
        )


class FakeLog:
    """All that was printed, then the end: the follower asks again."""

    def __init__(self, engine: FakeEngine, path: Path) -> None:
        self._engine, self._path = engine, path

    def __iter__(self) -> Iterator[bytes]:
        for index, line in enumerate(self._path.read_bytes().splitlines(keepends=True)):
            yield f"2026-11-29T15:36:43.{index:09d}Z ".encode() + line

    def close(self) -> None:
        """Nothing to let go of."""


def any_engine(engine: FakeEngine) -> Any:
    """The fake as what the code under test takes for a DockerEngine."""
    return engine
