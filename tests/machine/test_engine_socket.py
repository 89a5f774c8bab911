import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from moet_boot.machine.engine_socket import engine_client, find_engine, knock
from moet_boot.machine.tree import UnreadError
from tests.machine.fake_engine import engine


@pytest.mark.parametrize(
    ("environment", "there", "address"),
    [
        pytest.param({"DOCKER_HOST": "tcp://h:1"}, {"/var/run/docker.sock"}, "tcp://h:1", id="the-given-one"),
        pytest.param({}, {"/var/run/docker.sock"}, "unix:///var/run/docker.sock", id="docker"),
        pytest.param({}, {"/run/podman/podman.sock"}, "unix:///run/podman/podman.sock", id="podman"),
        pytest.param({"XDG_RUNTIME_DIR": "/run/u"}, {"/run/u/docker.sock"}, "unix:///run/u/docker.sock", id="rootless"),
        pytest.param(
            {"XDG_RUNTIME_DIR": "/run/u"},
            {"/run/u/podman/podman.sock"},
            "unix:///run/u/podman/podman.sock",
            id="rootless-podman",
        ),
    ],
)
def test_where_the_engine_listens(environment: Mapping[str, str], there: set[str], address: str) -> None:
    assert find_engine(environment, lambda path: str(path) in there) == address


def test_no_engine_listens() -> None:
    with pytest.raises(UnreadError, match=r"looked for /var/run/docker\.sock"):
        find_engine({}, lambda _: False)


def test_an_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with engine(tmp_path, {}), engine_client(5.0) as client:
        assert client.version()["Version"] == "28.5.1"


@pytest.mark.parametrize("left_behind", [True, False])
def test_a_socket_that_nobody_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_behind: bool) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    if left_behind:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "docker.sock"))
    why = "Connection refused" if left_behind else "No such file or directory"
    with pytest.raises(UnreadError, match=why), engine_client(2.0):
        pytest.fail("there is no engine")


def test_a_socket_that_is_closed_to_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setattr(socket.socket, "connect", denied)
    with pytest.raises(UnreadError, match="group docker"), engine_client(2.0):
        pytest.fail("there is no engine")


def test_an_engine_far_away_is_left_to_the_sdk() -> None:
    assert knock("tcp://192.0.2.1:2375", 0.1) is None  # type: ignore[func-returns-value]


def test_an_engine_that_accepts_and_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "docker.sock"))
        silent.listen()
        with pytest.raises(UnreadError, match="timed out"), engine_client(0.2):
            pytest.fail("it did not answer")


def test_without_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setitem(sys.modules, "docker", None)
    with engine(tmp_path, {}), pytest.raises(UnreadError, match="pip install"), engine_client(1.0):
        pytest.fail("there is no SDK")


def test_an_error_inside_is_not_taken_for_one_of_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with engine(tmp_path, {}), pytest.raises(ZeroDivisionError), engine_client(5.0):
        os.getpid() / 0
