"""The whole path with a real engine and the scripted server: each way a container can go wrong."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from moet_boot import __version__
from moet_boot.receipts.store import ReceiptStore
from testing.docker_daemon import DockerDaemon
from testing.docker_images import BASE, ENGINE, OTHER_ARCH
from tests.docker.boot import NAME, booting
from tests.scripted_engine import start as scripted
from tests.serve.scripted import gone, last_receipt, wait_until

pytestmark = pytest.mark.docker


def state_of(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.containers.get(NAME).attrs["State"]
    return found


def pids_of(client: Any) -> list[int]:
    """The pids of the container on this machine."""
    return [int(row[1]) for row in client.containers.get(NAME).top()["Processes"]]


def server_log() -> str:
    """The log of the newest boot's first attempt."""
    return (ReceiptStore().folder(last_receipt().id) / "server-1.log").read_text(errors="replace")


def test_boot_ask_stop(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--stop-when-ready") as run:
        code, document = run.end()
    assert code == 0, run.words
    assert document["answer"]
    receipt = last_receipt()
    assert [p.phase.value for p in receipt.attempts[0].phases] == [
        "starting",
        "loading_weights",
        "kv_cache",
        "warm_up",
        "serving",
    ]
    assert receipt.plan.runtime == "docker"
    assert receipt.attempts[0].curve
    assert not state_of(client)["Running"]


def test_the_container_is_what_the_plan_says(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch) as run:
        run.wait_for("ready")
        seen = client.containers.get(NAME).attrs
        run.stop()
    host, config = seen["HostConfig"], seen["Config"]
    assert config["Image"] == ENGINE
    assert config["Entrypoint"][-1] == "serve"
    assert config["Cmd"][0] == "/model"
    assert config["Labels"] == {
        "io.moet-boot.profile": "container",
        "io.moet-boot.plan": last_receipt().plan.digest,
        "io.moet-boot.version": __version__,
        "io.moet-boot.supervisor": config["Labels"]["io.moet-boot.supervisor"],
    }
    assert host["RestartPolicy"]["Name"] == "no"
    assert host["Privileged"] is False
    assert host["CapAdd"] is None
    # the engine adds the second one to whatever shares the IPC namespace of the host
    assert set(host["SecurityOpt"]) <= {"no-new-privileges", "label=disable"}
    assert "no-new-privileges" in host["SecurityOpt"]
    assert (host["NetworkMode"], host["IpcMode"], host["OomScoreAdj"]) == ("host", "host", 800)
    assert host["LogConfig"]["Config"] == {"max-size": "67108864", "max-file": "4"}
    assert [(m["Destination"], m["RW"]) for m in seen["Mounts"]] == [("/model", False)]


def test_the_docker_run_line_makes_the_same_container(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    """The printed line, run by the real docker client, against what serve created: all of HostConfig and Config."""
    with booting(tmp_path, arch, "--dry-run") as run:
        _, plan = run.end()
    line = plan["plan"]["command"].replace("docker run --detach", "docker create")
    subprocess.run(["sh", "-c", line], check=True, capture_output=True)
    by_line = client.containers.get(NAME).attrs
    client.containers.get(NAME).remove()
    with booting(tmp_path, arch, port=run.port) as run:
        run.wait_for("ready")
        by_serve = client.containers.get(NAME).attrs
        run.stop()
    by_serve["Config"]["Labels"].pop("io.moet-boot.supervisor")
    for attributes in (by_line, by_serve):
        attributes["Config"].pop("Hostname")
        for stream in ("AttachStdout", "AttachStderr"):
            attributes["Config"].pop(stream)
        attributes["Config"]["Env"].sort()
    assert said(by_line["HostConfig"]) == said(by_serve["HostConfig"])
    assert said(by_line["Config"]) == said(by_serve["Config"])


def said(options: dict[str, Any]) -> dict[str, Any]:
    """What is not empty: the client writes an empty list where the SDK says nothing."""
    return {name: value for name, value in options.items() if value not in (None, [], {}, "", 0, False)}


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_container_cleanly(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path, number: int, expected: int
) -> None:
    with booting(tmp_path, arch, shm=True) as run:
        run.wait_for("ready")
        pids = pids_of(client)
        held = shared_memory_of(pids)
        code, document = run.stop(number)
    assert (code, document["outcome"]) == (expected, "stopped")
    assert len(pids) >= 3
    assert gone(pids)
    assert held
    assert not any(path.exists() for path in held)


def shared_memory_of(pids: list[int]) -> set[Path]:
    """The segments of the host's shared memory that these processes have mapped."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()]
    return {Path(line[line.index("/dev/shm/") :]) for line in lines if "/dev/shm/" in line}


def test_a_container_that_ignores_term_is_killed_after_the_grace(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    with booting(tmp_path, arch, "--grace", "1", ignore_term=True, shm=True) as run:
        run.wait_for("ready")
        pids = pids_of(client)
        held = shared_memory_of(pids)
        code, _ = run.stop()
    assert code == 143
    assert gone(pids)
    assert state_of(client)["ExitCode"] == 137
    assert held
    assert not any(path.exists() for path in held), "shared memory of the host outlives a killed server"


def test_a_missing_image(daemon: DockerDaemon, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, image="moet-test-absent:1") as run:
        code, document = run.end()
    assert code == 3
    assert "no image moet-test-absent:1" in document["reason"]


def test_an_image_that_cannot_be_pulled(daemon: DockerDaemon, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--pull", image="localhost:9/moet-test-absent:1") as run:
        code, _ = run.end()
    assert code == 1
    assert "pull" in run.talk


def test_an_image_that_is_no_server(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, image=BASE) as run:
        code, _ = run.end()
    assert code == 7, run.words
    assert "cannot be started" in run.talk
    assert client.containers.list(all=True) == []


def test_an_image_for_another_architecture(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, image=OTHER_ARCH) as run:
        code, document = run.end()
    assert code == 3
    assert "architecture" in document["reason"]
    assert client.containers.list(all=True) == []


def test_an_engine_without_gpus_refuses_them(daemon: DockerDaemon, arch: str, tmp_path: Path) -> None:
    """No NVIDIA runtime exists on this machine: the request is made and the engine's refusal is understood."""
    with booting(tmp_path, arch, "--set", "gpus=0", "--accept-risk", "DOCKER.GPU") as run:
        code, _ = run.end()
    assert code == 3, run.words
    assert "cannot give GPUs" in run.talk
    assert "nvidia-container-toolkit" in run.talk


@pytest.mark.parametrize("runs", [True, False], ids=["running", "ended"])
def test_a_name_that_somebody_else_took(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path, runs: bool
) -> None:
    theirs = client.containers.run(BASE, ["sleep", "600" if runs else "0"], name=NAME, detach=True, network_mode="none")
    wait_until(lambda: runs or state_of(client)["Status"] == "exited")
    with booting(tmp_path, arch) as run:
        code, document = run.end()
    assert code == 3
    assert NAME in document["reason"]
    assert client.containers.get(NAME).id == theirs.id
    assert state_of(client)["Running"] is runs


def test_a_port_that_is_taken(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    port = scripted.free_port()
    with scripted.listener(port), booting(tmp_path, arch, port=port) as run:
        code, _ = run.end()
    assert code == 10
    assert client.containers.list(all=True) == []


def test_a_crash_in_the_boot(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, fail="no_weights") as run:
        code, _ = run.end()
    assert code == 7, run.words
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "artefact"
    assert "Cannot find any model weights" in failure.evidence


def test_a_hang_in_the_boot(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--grace", "1", deadline_s=2, hang_in="kv_cache") as run:
        code, _ = run.end()
    assert code == 7
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "hang"
    assert not state_of(client)["Running"]


def test_an_engine_that_dies_after_readiness_is_started_again(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    with booting(tmp_path, arch, budget=1, exit_after_s=6) as run:
        code, _ = run.end()
    assert code == 11, run.words
    receipt = last_receipt()
    assert receipt.restarts == 1
    assert [a.server_exit for a in receipt.attempts] == ["exit code 1", "exit code 1"]


def test_a_limit_that_kills(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, boot_s=20, alloc_mib=900, alloc_mib_s=100) as run:
        run.wait_for("phase", phase="loading_weights")
        client.containers.get(NAME).update(mem_limit="300m", memswap_limit="300m")
        code, _ = run.end()
    assert code == 7, run.words
    assert state_of(client)["OOMKilled"]
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "memory"
    assert "OOM killer" in failure.sentence


def test_the_guard_kills_a_container(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    floor = psutil.virtual_memory().available / 2**30 - 0.7
    # other programs of a shared machine may hold shared memory just now
    accept = ("--accept-risk", "MEM.AVAILABLE", "--accept-risk", "MEM.SHMEM")
    floors = {"hard_floor_gib": floor}
    with booting(tmp_path, arch, *accept, floors=floors, boot_s=2, alloc_mib=1600, alloc_mib_s=800) as run:
        run.wait_for("begin")
        pids = pids_of(client)
        code, _ = run.end()
    assert code == 8, run.words
    assert gone(pids)
    assert state_of(client)["ExitCode"] == 137
    actions = [action.action for action in last_receipt().attempts[0].guard_actions]
    assert "kill" in actions


@pytest.mark.parametrize(
    ("how", "options"),
    [("stop", {"timeout": 5}), ("kill", {}), ("remove", {"force": True})],
    ids=["stop", "kill", "remove"],
)
def test_a_person_who_ends_the_container_gets_no_new_one(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path, how: str, options: dict[str, Any]
) -> None:
    with booting(tmp_path, arch, budget=2) as run:
        run.wait_for("ready")
        getattr(client.containers.get(NAME), how)(**options)
        code, document = run.end()
    assert (code, document["outcome"]) == (143, "stopped"), run.words
    assert "somebody" in document["reason"]
    assert last_receipt().restarts == 0


def test_a_paused_container_can_still_be_stopped(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--grace", "1") as run:
        run.wait_for("ready")
        pids = pids_of(client)
        client.containers.get(NAME).pause()
        code, _ = run.stop()
    assert code == 143
    assert gone(pids)


def test_the_engine_is_restarted_under_a_server_that_lives_on(
    daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path
) -> None:
    """With --live-restore a killed daemon costs nothing: no end, no lost line, a clean stop."""
    with booting(tmp_path, arch, boot_s=4) as run:
        run.wait_for("phase", phase="loading_weights")
        pids = pids_of(client)
        daemon.kill()
        time.sleep(0.5)
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
        wait_until(lambda: sum(event["event"] == "ready" for event in run.events) == 2, timeout_s=60)
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
        wait_until(lambda: gone(pids), timeout_s=3)
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
    with booting(tmp_path, arch, "--stop-when-ready") as again:
        code, _ = again.end()
    assert code == 0, again.words
    assert "had left running" in again.talk
    assert gone(pids)


def test_two_supervisors_never_share_a_container(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch) as run:
        run.wait_for("ready")
        mine = client.containers.get(NAME).id
        with booting(tmp_path, arch) as second:
            code, document = second.end()
        assert code == 3
        assert NAME in document["reason"]
        assert client.containers.get(NAME).id == mine
        assert httpx2.get(f"http://127.0.0.1:{run.port}/health", trust_env=False).status_code == 200
        run.stop()
