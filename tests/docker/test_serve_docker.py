"""Boots and stops with a real engine and the scripted server: what is created, and that nothing is left."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from moet_boot import __version__
from testing.docker_daemon import DockerDaemon
from testing.docker_images import ENGINE
from tests.docker.boot import NAME, booting, pids_of, state_of
from tests.serve.scripted import gone, last_receipt, wait_until

pytestmark = pytest.mark.docker


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
    assert receipt.plan.container is not None
    assert (receipt.plan.container["image"], receipt.plan.container["name"]) == (ENGINE, NAME)
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


@pytest.mark.parametrize("engine", ["answers", "hangs"])
def test_the_guard_kills_a_container(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path, engine: str) -> None:
    # far enough away that nobody else's few hundred MiB decide
    floor = psutil.virtual_memory().available / 2**30 - 2
    # other programs of a shared machine may hold shared memory just now
    accept = ("--accept-risk", "MEM.AVAILABLE", "--accept-risk", "MEM.SHMEM")
    floors = {"hard_floor_gib": floor}
    with booting(tmp_path, arch, *accept, floors=floors, boot_s=2, alloc_mib=4096, alloc_mib_s=400, shm=True) as run:
        run.wait_for("phase", phase="loading_weights")
        pids = pids_of(client)
        held = shared_memory_of(pids)
        if engine == "hangs":
            daemon.freeze()
        code, _ = run.end()
    assert code == 8, run.words
    assert gone(pids)
    daemon.thaw()
    wait_until(lambda: state_of(client)["ExitCode"] == 137)
    assert held
    assert not any(path.exists() for path in held), "shared memory of the host outlives a server that the guard killed"
    actions = [action.action for action in last_receipt().attempts[0].guard_actions]
    assert "kill" in actions


def test_a_paused_container_can_still_be_stopped(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--grace", "1") as run:
        run.wait_for("ready")
        pids = pids_of(client)
        client.containers.get(NAME).pause()
        code, _ = run.stop()
    assert code == 143
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
