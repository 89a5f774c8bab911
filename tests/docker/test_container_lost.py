"""The engine killed, frozen, restarted; moet-boot killed: the server never runs unwatched, and never dies for nothing."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from testing.docker_daemon import DockerDaemon
from tests.docker.boot import booting, pids_of, server_log
from tests.serve.scripted import gone, last_receipt, wait_until

pytestmark = pytest.mark.docker


def test_the_engine_is_restarted_under_a_server_that_lives_on(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    """With --live-restore a killed daemon costs nothing: no end, no lost line, a clean stop."""
    with booting(tmp_path, arch, boot_s=4) as run:
        run.wait_for("phase", phase="loading_weights")
        pids = pids_of(client)
        daemon.kill()
        daemon.start("--live-restore")
        run.wait_for("ready")
        assert pids_of(client)[0] == pids[0]
        log = server_log()
        code, document = run.stop()
    assert (code, document["outcome"]) == (143, "stopped"), run.words
    assert gone(pids)
    assert log.count("Loading weights took") == log.count("Application startup complete") == 1


def test_an_engine_that_ends_its_containers_is_survived(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    """Without --live-restore the daemon ends what it finds running: the server is started again."""
    daemon.stop()
    daemon.start()
    with booting(tmp_path, arch, budget=2) as run:
        run.wait_for("ready")
        daemon.kill()
        daemon.start("--live-restore=false")
        run.wait_for_ready(2)
        code, _ = run.stop()
    daemon.stop()
    assert code == 143, run.words
    receipt = last_receipt()
    assert receipt.restarts == 1
    assert receipt.attempts[0].failure is not None
    assert "engine was restarted" in receipt.attempts[0].failure.sentence


@pytest.mark.parametrize("state", ["dead", "frozen"])
def test_a_server_is_stopped_without_its_engine(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path, state: str
) -> None:
    with booting(tmp_path, arch) as run:
        run.wait_for("ready")
        pids = pids_of(client)
        if state == "dead":
            daemon.kill()
        else:
            daemon.freeze()
        code, _ = run.stop()
        assert gone(pids)
        daemon.thaw()
    assert code == 143, run.words


def test_a_killed_moet_boot_takes_its_container_along(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    with booting(tmp_path, arch) as run:
        run.wait_for("ready")
        pids = pids_of(client)
        run.process.kill()
        wait_until(lambda: gone(pids))
        run.process.wait()
    with booting(tmp_path, arch, "--stop-when-ready", port=run.port) as again:
        code, _ = again.end()
    assert code == 0, again.words


def test_a_container_that_lost_its_moet_boot_is_ended_by_the_next(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    """Not even guard and leash are left: the machine of the last resort is the next serve."""
    with booting(tmp_path, arch) as run:
        run.wait_for("ready")
        pids = pids_of(client)
        supervisor = psutil.Process(run.process.pid)
        everybody = [*supervisor.children(recursive=True), supervisor]
        for process in everybody:
            process.suspend()
        for process in everybody:
            process.kill()
        run.process.wait()
    assert not gone(pids)
    with booting(tmp_path, arch, "--stop-when-ready", port=run.port) as again:
        code, _ = again.end()
    assert code == 0, again.words
    assert "had left running" in again.talk
    assert gone(pids)
