"""Each way a container can go wrong, with a real engine and the scripted server."""

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from testing.docker_daemon import DockerDaemon
from testing.docker_images import BASE, ENGINE, OTHER_ARCH
from tests.docker.boot import NAME, booting, pids_of, state_of
from tests.scripted_engine import start as scripted
from tests.serve.scripted import last_receipt, wait_until

pytestmark = pytest.mark.docker


def test_a_missing_image(daemon: DockerDaemon, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, image="moet-test-absent:1") as run:
        code, document = run.end()
    assert code == 3
    assert "no image moet-test-absent:1" in document["reason"]


def test_an_image_that_cannot_be_pulled(daemon: DockerDaemon, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, "--pull", image="localhost:9/moet-test-absent:1") as run:
        code, _ = run.end()
    assert code == 1
    assert "fetching the image localhost:9/" in run.talk
    assert "cannot be fetched" in run.talk


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


def test_an_image_that_is_not_the_pinned_one(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    here, other = client.images.get(ENGINE).id, f"sha256:{0:064x}"
    with booting(tmp_path, arch, "--set", f"image-digest={other}") as run:
        code, document = run.end()
    assert code == 3
    assert here in document["reason"]
    assert client.containers.list(all=True) == []
    with booting(tmp_path, arch, "--set", f"image={ENGINE}@{other}") as run:
        code, document = run.end()
    assert code == 3
    assert f"{ENGINE} here is {here}" in document["reason"]
    with booting(tmp_path, arch, "--set", f"image-digest={here}", "--stop-when-ready") as run:
        code, _ = run.end()
    assert code == 0, run.words
    assert last_receipt().snapshot["docker"]["image"]["digests"] == [here]


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
    """As the real one it exits with 0 then, which no stop of ours is."""
    with booting(tmp_path, arch, budget=1) as run:
        for start in (1, 2):
            run.wait_for_ready(start)
            core = next(pid for pid in pids_of(client) if psutil.Process(pid).name().startswith("VLLM::EngineCor"))
            os.kill(core, signal.SIGKILL)
        code, _ = run.end()
    assert code == 11, run.words
    receipt = last_receipt()
    assert receipt.restarts == 1
    assert [a.server_exit for a in receipt.attempts] == ["exit code 0", "exit code 0"]


def test_a_limit_that_kills(daemon: DockerDaemon, client: Any, arch: str, tmp_path: Path) -> None:
    with booting(tmp_path, arch, boot_s=3, alloc_mib=900, alloc_mib_s=100) as run:
        # before it takes memory: a limit below what is in use is refused
        run.wait_for("begin")
        client.containers.get(NAME).update(mem_limit="300m", memswap_limit="300m")
        code, _ = run.end()
    assert code == 7, run.words
    assert state_of(client)["OOMKilled"]
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "memory"
    assert "OOM killer" in failure.sentence


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
