from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moet_boot.machine import containers
from moet_boot.machine.containers import read_docker, toolkit_version
from moet_boot.machine.tree import Tree
from tests.machine.fake_engine import engine
from tests.machine.trees import tree_of

INFO = {"CgroupDriver": "systemd", "Runtimes": {"runc": {}, "nvidia": {}}}


def details(name: str, minutes_ago: int) -> dict[str, Any]:
    finished = datetime.now(tz=UTC) - timedelta(minutes=minutes_ago)
    state = {"Running": False, "FinishedAt": finished.isoformat(), "ExitCode": 0}
    host = {"DeviceRequests": [{"Count": -1}], "Memory": 74088185856}
    return {"Name": f"/{name}", "State": state, "HostConfig": host}


ANSWERS = {
    "/info": INFO,
    "/images/vllm-moet-gb10:v024/json": {"Id": "sha256:1", "Architecture": "arm64", "Config": {}},
    "/containers/json": [
        {"Id": "1", "Names": ["/moet-boot-spark"], "State": "running", "Status": "Up 2 hours"},
        {"Id": "2", "Names": ["/vllm-prev"], "State": "exited", "Status": "Exited (0) 2 minutes ago"},
        {"Id": "3", "Names": ["/old"], "State": "exited", "Status": "Exited (1) 3 weeks ago"},
        {"Id": "4", "Names": ["/gone"], "State": "exited", "Status": "Exited (0) Less than a second ago"},
    ],
    "/containers/moet-boot-spark/json": details("moet-boot-spark", 0),
    "/containers/2/json": details("vllm-prev", 2),
}


@pytest.fixture
def no_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")


@pytest.mark.usefixtures("no_toolkit")
def test_everything_that_an_engine_tells(tmp_path: Path) -> None:
    with engine(tmp_path, ANSWERS) as server:
        docker = read_docker(Tree(tmp_path), "vllm-moet-gb10:v024", "moet-boot-spark", 5.0)
    assert (docker.present, docker.error, docker.runtimes) == (True, None, ["nvidia", "runc"])
    assert docker.image is not None
    assert (docker.image.arch, docker.image.present) == ("arm64", True)
    assert [container.name for container in docker.containers] == ["moet-boot-spark", "vllm-prev", "old", "gone"]
    assert [exited.name for exited in docker.recently_exited] == ["vllm-prev"]
    assert docker.run is not None
    assert docker.run.memory_limit == 74088185856
    assert "/containers/3/json" not in server.asked


@pytest.mark.usefixtures("no_toolkit")
def test_an_image_that_is_not_there(tmp_path: Path) -> None:
    with engine(tmp_path, {"/info": INFO, "/containers/json": []}):
        docker = read_docker(Tree(tmp_path), "absent:1", "moet-boot-spark", 5.0)
    assert docker.image is not None
    assert (docker.image.ref, docker.image.present) == ("absent:1", False)
    assert docker.run is None


@pytest.mark.usefixtures("no_toolkit")
def test_an_image_of_another_digest_is_named(tmp_path: Path) -> None:
    asked = "vllm-moet-gb10:v024@sha256:" + "0" * 64
    with engine(tmp_path, ANSWERS):
        image = read_docker(Tree(tmp_path), asked, None, 5.0).image
    assert image is not None
    assert (image.ref, image.present, image.digests) == (asked, False, ["sha256:1"])


@pytest.mark.usefixtures("no_toolkit")
def test_without_a_question_about_an_image_none_is_asked(tmp_path: Path) -> None:
    with engine(tmp_path, {"/info": INFO, "/containers/json": []}) as server:
        assert read_docker(Tree(tmp_path), None, None, 5.0).image is None
    assert not any(path.startswith("/images") for path in server.asked)


@pytest.mark.usefixtures("no_toolkit")
def test_devices_of_the_specifications_when_the_engine_lists_none(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"/etc/cdi/nvidia.yaml": "devices:\n- name: all\nkind: nvidia.com/gpu\n"})
    with engine(tmp_path, {"/info": INFO, "/containers/json": []}):
        assert read_docker(tree, None, None, 5.0).cdi_devices == ["nvidia.com/gpu=all"]


@pytest.mark.usefixtures("no_toolkit")
def test_no_engine_is_an_answer(tmp_path: Path) -> None:
    docker = read_docker(Tree(tmp_path), "x", "y", 1.0)
    assert (docker.present, docker.image, docker.containers) == (False, None, [])
    assert docker.error


@pytest.mark.usefixtures("no_toolkit")
def test_an_engine_in_trouble_is_an_answer(tmp_path: Path) -> None:
    with engine(tmp_path, {"/info": {"message": "disk full"}}, status=500):
        docker = read_docker(Tree(tmp_path), None, None, 1.0)
    assert docker.present is False
    assert "the container engine cannot be used" in (docker.error or "")


def toolkit(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-ctk"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo NVIDIA Container Toolkit CLI version 1.19.0; echo commit: abc", "1.19.0"),
        ("echo something else", None),
        ("exit 3", None),
    ],
)
def test_the_version_of_the_toolkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str | None
) -> None:
    toolkit(tmp_path, script, monkeypatch)
    assert toolkit_version() == version


def test_a_toolkit_that_hangs_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit(tmp_path, "exec sleep 30", monkeypatch)
    monkeypatch.setattr(containers, "TOOLKIT_S", 0.1)
    assert toolkit_version() is None


def test_no_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolkit_version() is None
