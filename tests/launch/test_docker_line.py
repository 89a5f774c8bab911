"""The printed `docker run` line and the SDK's request: the same container, field by field."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer

from moet_boot.launch.container_create import create_arguments
from moet_boot.launch.container_request import ContainerRequest, container_request
from moet_boot.launch.docker_line import docker_run_arguments, docker_run_line
from moet_boot.launch.plan import LaunchPlan, PlannedMount, build_plan
from moet_boot.machine.snapshot import Docker
from moet_boot.profile.load import load_profile
from testing.container_plans import container_plan
from testing.docker_flags import body_of, body_of_words

NVIDIA = Docker(present=True, runtimes=["nvidia", "runc"])
CDI = Docker(present=True, runtimes=["runc"], cdi_devices=["nvidia.com/gpu=0", "nvidia.com/gpu=all"])
Sent = Callable[[ContainerRequest], dict[str, Any]]

PLANS = {
    "spark": build_plan(load_profile("spark")),
    "rtx6000-a": build_plan(load_profile("rtx6000-a")),
    "rtx6000-b": build_plan(load_profile("rtx6000-b")),
    "entrypoint of three words": container_plan("a", "b c", entrypoint=("python3", "-m", "server")),
    "two cards": container_plan(gpus="device=0,1"),
    "bridge": container_plan(network="bridge", ipc="private", host="0.0.0.0", port=8010),
    "hard words": container_plan(
        "--config", '{"a": ["x y", "$HOME", "it\'s"]}', env={"A": "b=c d", "EMPTY": "", "UML": "grün\nline"}
    ),
    "hard paths": container_plan(
        mounts=(
            PlannedMount("a", "/data/a,b", '/in/"q"', read_only=True),
            PlannedMount("b", "/data/x y", "/out", read_only=False),
        )
    ),
}


@pytest.fixture(scope="module")
def wire() -> Iterator[HTTPServer]:
    with HTTPServer(port=0) as server:
        server.expect_request("/v1.41/containers/create", method="POST").respond_with_json({"Id": "c1"}, status=201)
        server.expect_request("/v1.41/containers/c1/json").respond_with_json({"Id": "c1"})
        yield server


@pytest.fixture
def sent(wire: HTTPServer) -> Iterator[Sent]:
    client = docker.DockerClient(base_url=wire.url_for("").rstrip("/"), version="1.41")

    def send(request: ContainerRequest) -> dict[str, Any]:
        wire.clear_log()
        client.containers.create(**create_arguments(request))
        post = wire.log[0][0]
        assert post.args["name"] == request.name
        return _tidy(json.loads(post.get_data()))

    yield send
    client.close()


def _tidy(body: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty; the SDK always says these four switches, and false is what the engine assumes."""
    for switch in ("Tty", "OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr", "NetworkDisabled"):
        assert body.pop(switch, None) in (None, False)
    host = {name: value for name, value in body.pop("HostConfig").items() if value not in (None, [], {}, 0, "")}
    tidy = {name: value for name, value in body.items() if value not in (None, [], {}, "")}
    return {**tidy, "Env": sorted(tidy["Env"]), "HostConfig": host} if "Env" in tidy else {**tidy, "HostConfig": host}


@pytest.mark.parametrize("engine", [NVIDIA, CDI], ids=["nvidia runtime", "CDI"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_line_and_request_are_the_same_container(plan: LaunchPlan, engine: Docker, sent: Sent) -> None:
    request = container_request(plan, engine)
    assert body_of(docker_run_line(request)) == sent(request)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)
PATHS = st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"]), min_size=1).map(
    lambda t: f"/{t}"
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    argv=st.lists(TEXT, max_size=4), env=st.dictionaries(NAMES, TEXT, max_size=4), path=PATHS, read_only=st.booleans()
)
def test_no_text_breaks_the_line(sent: Sent, argv: list[str], env: dict[str, str], path: str, read_only: bool) -> None:
    mounts = (PlannedMount("m", path, path, read_only=read_only),)
    request = container_request(container_plan(*argv, env=env, mounts=mounts), NVIDIA)
    assert body_of_words(docker_run_arguments(request)) == sent(request)


def test_the_line_of_the_spark_is_the_published_command_made_safe() -> None:
    body = body_of(docker_run_line(container_request(PLANS["spark"], NVIDIA)))
    host = body["HostConfig"]
    assert body["Image"] == "vllm-moet-gb10:v024"
    assert "Cmd" not in body
    assert "Entrypoint" not in body
    assert host["DeviceRequests"][0]["Count"] == -1
    assert (host["NetworkMode"], host["IpcMode"], host["ShmSize"]) == ("host", "host", 64 * 2**30)
    assert all(mount["ReadOnly"] for mount in host["Mounts"])
    assert host["RestartPolicy"] == {"Name": "no"}
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Ulimits"] == [{"Name": "core", "Soft": 0, "Hard": 0}]
    assert not {"Privileged", "CapAdd", "Devices"} & host.keys()
