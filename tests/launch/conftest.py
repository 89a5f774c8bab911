"""Containers on an engine whose containers are processes of this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moet_boot.launch.container import ContainerServer
from moet_boot.launch.docker_engine import DockerEngine
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.process import Clock
from moet_boot.machine.snapshot import Docker
from testing.container_plans import container_plan
from testing.fake_engine import SLEEPER, FakeEngine, any_engine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """The engine; logs are read again at once."""
    monkeypatch.setattr("moet_boot.launch.container_log.AGAIN_S", 0.005)
    found = FakeEngine(tmp_path)
    yield found
    if found.process is not None:
        found.process.kill()
        found.process.wait()


@pytest.fixture
def make(engine: FakeEngine, tmp_path: Path) -> Iterator[Callable[..., ContainerServer]]:
    """Makes the server of a program."""
    made: list[ContainerServer] = []

    def build(program: str = SLEEPER, clock: Clock | None = None, **options: object) -> ContainerServer:
        def connect_to(_answer_s: float) -> DockerEngine:
            found: DockerEngine = any_engine(engine)
            return found

        plan = container_plan(program, port=0, **options)  # type: ignore[arg-type]
        log = LogFile(tmp_path / "server.log")
        made.append(ContainerServer(plan, Docker(present=True), log, connect_to=connect_to, clock=clock))
        return made[-1]

    yield build
    for server in made:
        engine.away = False
        server.close()
