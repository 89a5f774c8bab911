"""The process runtime on the real engine, without supervisor: how it boots and dies, and that nothing survives it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from moet_boot.engine.failure import Ending, Failure, diagnose
from moet_boot.engine.failure_table import FailureClass
from moet_boot.engine.readiness import Readiness
from moet_boot.guard.processes import Process
from moet_boot.launch.ending import StopReport
from moet_boot.phases import Phase
from tests.scripted_engine.start import free_port, listener
from tests.vllm.real_server import RealServer, command

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(400)]

Boot = Callable[..., RealServer]


@pytest.fixture
def boot(engine: Path, model: Path, tmp_path: Path) -> Iterator[Boot]:
    """Starts the real engine; whatever is left at the end is killed."""
    servers: list[RealServer] = []

    def start(*flags: str, checkpoint: Path = model, port: int | None = None) -> RealServer:
        line = command(engine.absolute(), checkpoint.absolute(), port or free_port(), tmp_path / "cache", *flags)
        servers.append(RealServer(line, tmp_path / f"engine{len(servers)}.log"))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def named(server: RealServer, name: str) -> Process:
    """Its process of this name."""
    return next(process for process in server.processes() if process.name == name)


def assert_gone(server: RealServer, pids: list[int], report: StopReport) -> None:
    assert report.left == ()
    assert server.processes() == []
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def failure(server: RealServer) -> Failure:
    ended = server.exited()
    assert ended is not None
    return diagnose(Ending(server.log_tail().decode(errors="replace"), ended.code, ended.signal))


def test_boot_phases_a_hang_and_a_clean_stop(boot: Boot) -> None:
    shm_before = set(Path("/dev/shm").iterdir())
    server = boot()
    assert server.probe().readiness is Readiness.REFUSED
    server.wait_until_ready()
    assert server.entered == [Phase.LOADING_WEIGHTS, Phase.KV_CACHE, Phase.WARM_UP]
    processes = server.processes()
    assert {"VLLM::EngineCor", "VLLM::Worker"} <= {process.name for process in processes}
    assert {process.session for process in processes} == {server.pid}

    engine = named(server, "VLLM::EngineCor")
    os.kill(engine.pid, signal.SIGSTOP)
    health = httpx2.get(f"http://127.0.0.1:{server.command.port}/health")
    assert health.status_code == 200, "the engine is stopped, and health does not know"
    os.kill(engine.pid, signal.SIGCONT)
    server.wait_until(lambda: server.probe().ready)

    report = server.stop(20)
    assert server.exited() is not None
    assert server.exited().code == 0  # type: ignore[union-attr]
    assert report.forced is False
    assert any("vllm_dist_" in name for name in report.removed)
    assert_gone(server, [process.pid for process in processes], report)
    assert set(Path("/dev/shm").iterdir()) <= shm_before


def test_the_engine_survives_its_killed_api_process_and_is_swept(boot: Boot) -> None:
    shm_before = set(Path("/dev/shm").iterdir())
    server = boot()
    server.wait_until_ready()
    processes = server.processes()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    server.wait_until(server.exited)
    time.sleep(1)
    assert {"VLLM::EngineCor", "VLLM::Worker"} <= {process.name for process in server.processes()}
    report = server.stop(0)
    assert report.forced
    assert any("psm_" in name for name in report.removed)
    assert_gone(server, [process.pid for process in processes], report)
    assert set(Path("/dev/shm").iterdir()) <= shm_before
    assert failure(server).kind is FailureClass.MEMORY


def test_a_dead_engine_ends_with_exit_code_0(boot: Boot) -> None:
    server = boot()
    server.wait_until_ready()
    pids = [process.pid for process in server.processes()]
    os.kill(named(server, "VLLM::EngineCor").pid, signal.SIGKILL)
    server.wait_until(lambda: server.health().readiness is Readiness.UNHEALTHY or server.exited(), timeout_s=60)
    assert server.exited() is None, "503 comes before the end"
    server.wait_until(server.exited, timeout_s=60)
    assert server.exited() is not None
    assert server.exited().code == 0  # type: ignore[union-attr]
    assert failure(server).kind is FailureClass.ENGINE_CRASH
    assert_gone(server, pids, server.stop(5))


def test_a_term_during_the_boot_is_repeated_until_it_works(boot: Boot) -> None:
    server = boot()
    server.wait_until(lambda: b"Initializing a V1 LLM engine" in server.log_tail())
    pids = [process.pid for process in server.processes()]
    report = server.stop(30)
    assert report.terms >= 2
    assert report.seconds < 30
    assert_gone(server, pids, report)


def test_a_port_that_is_taken_is_named(boot: Boot) -> None:
    with listener(0) as other:
        server = boot(port=other.getsockname()[1])
        server.wait_until(server.exited)
        assert failure(server).kind is FailureClass.PORT
        assert server.stop(0).left == ()
