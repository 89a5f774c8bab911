"""The engine's answers over a real HTTP line, and what comes of them."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from moet_boot.errors import ArtefactMissingError, MoetBootError, UsageError
from moet_boot.launch.container_request import container_request
from moet_boot.launch.docker_engine import ContainerEvent, DockerEngine, EngineSilentError, ImageFacts, connect
from moet_boot.machine.snapshot import Docker
from testing.container_plans import container_plan

API = "/v1.41"
DROPPED_SOCKET = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The SDK drops its socket unclosed when its constructor fails."""
RUNNING = {
    "Id": "c1",
    "Name": "/moet-boot-test",
    "State": {
        "Status": "running",
        "Pid": 4711,
        "ExitCode": 0,
        "OOMKilled": False,
        "StartedAt": "2026-11-29T15:36:43.8Z",
    },
    "Config": {"Labels": {"a": "b"}, "Tty": False},
}
EXITED = {
    "Id": "c1",
    "Name": "/moet-boot-test",
    "State": {"Status": "exited", "Pid": 0, "ExitCode": 137, "OOMKilled": True, "Error": "x", "StartedAt": "y"},
    "Config": {"Labels": None, "Tty": False},
}


@pytest.fixture(scope="module")
def listening() -> Iterator[HTTPServer]:
    with HTTPServer(port=0) as found:
        yield found


@pytest.fixture
def server(listening: HTTPServer) -> HTTPServer:
    listening.clear()
    listening.expect_request("/version").respond_with_json({"ApiVersion": "1.41"})
    return listening


def streamed(*objects: dict[str, Any]) -> Response:
    """JSON objects in chunks, as an engine streams them."""
    lines = [json.dumps(each).encode() + b"\n" for each in objects]
    chunks = (b"%x\r\n%s\r\n" % (len(line), line) for line in [*lines, b""])
    return Response(chunks, headers={"Transfer-Encoding": "chunked"})


@pytest.fixture
def engine(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    monkeypatch.setenv("DOCKER_HOST", f"tcp://{server.host}:{server.port}")
    found = connect(2.0)
    yield found
    found.close()


def test_a_running_container(server: HTTPServer, engine: DockerEngine) -> None:
    server.expect_request(f"{API}/containers/moet-boot-test/json").respond_with_json(RUNNING)
    state = engine.find("moet-boot-test")
    assert state is not None
    assert (state.id, state.name, state.pid, state.running) == ("c1", "moet-boot-test", 4711, True)
    assert state.labels == {"a": "b"}


def test_a_container_that_has_ended(server: HTTPServer, engine: DockerEngine) -> None:
    server.expect_request(f"{API}/containers/c1/json").respond_with_json(EXITED)
    state = engine.find("c1")
    assert state is not None
    assert (state.pid, state.running, state.exit_code, state.oom_killed, state.labels) == (None, False, 137, True, {})


def test_a_container_that_is_not_there(server: HTTPServer, engine: DockerEngine) -> None:
    missing = {"message": "No such container: nope"}
    server.expect_request(f"{API}/containers/nope/json").respond_with_json(missing, status=404)
    assert engine.find("nope") is None


def test_running_containers_of_a_label(server: HTTPServer, engine: DockerEngine) -> None:
    rows = [{"Id": "c1"}, {"Id": "c2"}]
    query = {"limit": "-1", "all": "0", "size": "0", "trunc_cmd": "0", "filters": '{"label": ["io.x"]}'}
    server.expect_request(f"{API}/containers/json", query_string=query).respond_with_json(rows)
    assert engine.running_with("io.x") == ["c1", "c2"]


def test_images(server: HTTPServer, engine: DockerEngine) -> None:
    image = {"Id": "sha256:1", "Architecture": "arm64", "RepoDigests": ["a@sha256:2"]}
    server.expect_request(f"{API}/images/a:1/json").respond_with_json(image)
    server.expect_request(f"{API}/images/b:1/json").respond_with_json({"message": "No such image: b:1"}, status=404)
    assert engine.image("a:1") == ImageFacts("arm64", ("sha256:2", "sha256:1"))
    assert engine.image("b:1") is None


def test_a_refused_creation_is_explained(server: HTTPServer, engine: DockerEngine) -> None:
    refusal = {"message": 'invalid mount config for type "bind": bind source path does not exist: /data'}
    server.expect_request(f"{API}/containers/create").respond_with_json(refusal, status=400)
    with pytest.raises(ArtefactMissingError, match="/data does not exist"):
        engine.create(container_request(container_plan(), Docker(present=True)))


@pytest.mark.parametrize("status", [404, 409], ids=["gone", "not running"])
def test_a_signal_for_a_container_that_has_ended_is_fine(server: HTTPServer, engine: DockerEngine, status: int) -> None:
    server.expect_request(f"{API}/containers/c1/kill").respond_with_json({"message": "not running"}, status=status)
    engine.signal("c1", "SIGKILL")
    assert dict(server.log[-1][0].args) == {"signal": "SIGKILL"}


@pytest.mark.parametrize("status", [404, 409], ids=["gone", "on its way"])
def test_removing_what_is_gone_is_fine(server: HTTPServer, engine: DockerEngine, status: int) -> None:
    server.expect_request(f"{API}/containers/c1", method="DELETE").respond_with_json({"message": "x"}, status=status)
    engine.remove("c1")
    assert server.log[-1][0].args["force"] == "True"


def test_other_refusals_of_a_signal_are_errors(server: HTTPServer, engine: DockerEngine) -> None:
    server.expect_request(f"{API}/containers/c1/kill").respond_with_json({"message": "no"}, status=500)
    server.expect_request(f"{API}/containers/c1", method="DELETE").respond_with_json({"message": "no"}, status=500)
    with pytest.raises(MoetBootError, match="refused to send SIGTERM"):
        engine.signal("c1", "SIGTERM")
    with pytest.raises(MoetBootError, match="refused to remove"):
        engine.remove("c1")


def test_the_log_comes_frame_by_frame(server: HTTPServer, engine: DockerEngine) -> None:
    frames = [b"2026-11-29T15:36:43.849599960Z out\n", b"2026-11-29T15:36:43.849624852Z err\n"]
    body = b"".join(struct.pack(">BxxxL", kind, len(f)) + f for kind, f in zip((1, 2), frames, strict=True))
    server.expect_request(f"{API}/containers/c1/json").respond_with_json(RUNNING)
    server.expect_request(f"{API}/containers/c1/logs").respond_with_data(body)
    assert list(engine.logs("c1", 1795966603.25)) == frames
    asked = next(request for request, _ in server.log if request.path.endswith("/logs"))
    assert (asked.args["since"], asked.args["timestamps"], asked.args["follow"]) == ("1795966603.25", "1", "1")


def test_events_of_one_container(server: HTTPServer, engine: DockerEngine) -> None:
    events = [
        {"Action": "kill", "Actor": {"Attributes": {"signal": "15"}}, "timeNano": 1_500_000_000},
        {"Action": "die", "Actor": {"Attributes": {"exitCode": "0"}}, "time": 2},
    ]
    server.expect_request(f"{API}/events").respond_with_response(streamed(*events))
    assert engine.events("c1", 1.0, 3.0) == [ContainerEvent("kill", 1.5, 15), ContainerEvent("die", 2.0)]
    assert json.loads(server.log[-1][0].args["filters"]) == {"container": ["c1"]}


def test_a_pull_asks_for_the_architecture_and_hears_its_errors(server: HTTPServer, engine: DockerEngine) -> None:
    def answer(request: Request) -> Response:
        failed = request.args["fromImage"] == "nope"
        last = {"error": "manifest for nope:1 not found: manifest unknown"} if failed else {"status": "done"}
        return streamed({"status": "pulling"}, last)

    server.expect_request(f"{API}/images/create").respond_with_handler(answer)
    engine.pull("a:1", "arm64")
    assert server.log[-1][0].args["platform"] == "linux/arm64"
    with pytest.raises(ArtefactMissingError, match="manifest unknown"):
        engine.pull("nope:1", "arm64")


@DROPPED_SOCKET
def test_an_engine_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(EngineSilentError, match="does not answer") as caught:
        connect(1.0)
    assert "DOCKER_HOST" in caught.value.fix


def test_no_engine_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("moet_boot.machine.engine_socket.SYSTEM_SOCKETS", ())
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with pytest.raises(EngineSilentError, match="no container engine listens here"):
        connect(1.0)


@DROPPED_SOCKET
def test_an_answer_that_is_no_docker(monkeypatch: pytest.MonkeyPatch, server: HTTPServer) -> None:
    server.clear()
    server.expect_request("/version").respond_with_data("<html>hello</html>")
    monkeypatch.setenv("DOCKER_HOST", f"tcp://{server.host}:{server.port}")
    with pytest.raises(EngineSilentError):
        connect(1.0)


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "docker", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        connect(1.0)
    assert "moet-boot[docker]" in caught.value.fix
