from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.container_labels import SUPERVISOR_LABEL
from moet_boot.machine.engine_answers import (
    RECENT_S,
    describe_container,
    describe_engine,
    describe_exited,
    describe_image,
    describe_run,
)

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC).timestamp()
DIGEST = "sha256:" + "a" * 64


def test_a_docker_engine_with_the_nvidia_runtime() -> None:
    info = {
        "CgroupDriver": "systemd",
        "Runtimes": {"runc": {}, "nvidia": {}},
        "SecurityOptions": ["name=seccomp,profile=builtin"],
        "DiscoveredDevices": [
            {"Source": "cdi", "ID": "nvidia.com/gpu=all"},
            {"Source": "cdi", "ID": "nvidia.com/gpu=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"},
            {"Source": "other", "ID": "x"},
        ],
    }
    docker = describe_engine({"Version": "28.5.1", "Components": [{"Name": "Engine"}]}, info)
    assert (docker.present, docker.engine, docker.server_version) == (True, "docker", "28.5.1")
    assert (docker.rootless, docker.cgroup_driver, docker.runtimes) == (False, "systemd", ["nvidia", "runc"])
    assert docker.cdi_devices == ["nvidia.com/gpu=all"]


def test_a_rootless_podman() -> None:
    docker = describe_engine(
        {"Version": "5.2", "Components": [{"Name": "Podman Engine"}]}, {"SecurityOptions": ["name=rootless"]}
    )
    assert (docker.engine, docker.rootless, docker.runtimes, docker.cdi_devices) == ("podman", True, [], [])


def test_an_image() -> None:
    image = describe_image(
        "vllm-moet-gb10:v024",
        {
            "Id": "sha256:" + "b" * 64,
            "Architecture": "arm64",
            "RepoDigests": [f"corp/vllm@{DIGEST}"],
            "Config": {
                "Env": ["CUDA_VERSION=13.0.1", "TORCH_CUDA_ARCH_LIST=12.0a;12.1a 9.0", "VLLM_VERSION=0.24.0", "X"],
                "Entrypoint": ["/entrypoint.sh"],
            },
        },
    )
    assert (image.present, image.arch, image.digest, image.cuda_toolkit) == (True, "arm64", DIGEST, "13.0")
    assert (image.cuda_archs, image.vllm, image.entrypoint) == (["12.0a", "12.1a", "9.0"], "0.24.0", ["/entrypoint.sh"])


@pytest.mark.parametrize(
    ("answer", "digests"),
    [
        (
            {"Id": "sha256:1", "RepoDigests": ["a@sha256:2", "b.c:5000/d@sha256:3"]},
            ["sha256:2", "sha256:3", "sha256:1"],
        ),
        ({"Id": "sha256:1", "RepoDigests": ["a@sha256:1", "b@sha256:1"]}, ["sha256:1"]),
        ({"Id": "0f", "RepoDigests": None}, ["sha256:0f"]),
        ({}, []),
    ],
    ids=["registries", "an engine whose ids are digests", "podman", "nothing"],
)
def test_what_an_image_is_known_by(answer: dict[str, Any], digests: list[str]) -> None:
    image = describe_image("x", answer)
    assert (image.digests, image.digest) == (digests, digests[0] if digests else None)


def test_an_image_that_says_little() -> None:
    image = describe_image("x", {"Id": DIGEST, "Architecture": "amd64", "RepoDigests": None, "Config": None})
    assert (image.digest, image.cuda_toolkit, image.cuda_archs, image.vllm) == (DIGEST, None, None, None)


@pytest.mark.parametrize(
    ("labels", "ours"),
    [({}, False), (None, False), ({SUPERVISOR_LABEL: "1"}, True), ({"com.example": "moet-boot"}, False)],
)
def test_a_container_in_the_list(labels: dict[str, str] | None, ours: bool) -> None:
    row = {
        "Names": ["/moet-boot-spark"],
        "State": "running",
        "Labels": labels,
        "Ports": [{"PrivatePort": 8000, "PublicPort": 8001}, {"PrivatePort": 9}, {"PublicPort": 8001}],
    }
    container = describe_container(row)
    assert (container.name, container.state, container.ours, container.ports) == (
        "moet-boot-spark",
        "running",
        ours,
        [8001],
    )


@pytest.mark.parametrize(("gone", "orphan"), [(True, True), (False, False)])
def test_a_container_whose_moet_boot_has_ended(gone: bool, orphan: bool) -> None:
    asked: list[str] = []
    row = {"Names": ["/moet-boot-spark"], "Labels": {"io.moet-boot.supervisor": "1:2:3"}}

    def is_gone(mark: str) -> bool:
        asked.append(mark)
        return gone

    assert describe_container(row, is_gone).orphan is orphan
    assert asked == ["1:2:3"]


def test_nobody_elses_container_is_an_orphan() -> None:
    assert not describe_container({"Names": ["/x"], "Labels": {"a": "b"}}, lambda _mark: True).orphan


def test_a_container_without_a_name() -> None:
    assert describe_container({"Id": "0123456789abcdef", "Names": None}).name == "0123456789ab"


def test_how_a_container_was_made() -> None:
    run = describe_run(
        {
            "HostConfig": {
                "NetworkMode": "host",
                "IpcMode": "host",
                "ShmSize": 67108864,
                "Memory": 74088185856,
                "RestartPolicy": {"Name": "no"},
                "OomScoreAdj": 0,
                "DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}],
            }
        }
    )
    assert (run.gpus, run.network, run.ipc, run.shm_bytes) == ("all", "host", "host", 67108864)
    assert (run.memory_limit, run.restart, run.oom_score_adj) == (74088185856, "no", 0)


@pytest.mark.parametrize(
    ("details", "gpus"),
    [
        pytest.param({"HostConfig": {"DeviceRequests": [{"Count": -1}]}}, "all", id="all"),
        pytest.param({"HostConfig": {"DeviceRequests": [{"Count": 2}]}}, "2", id="two"),
        pytest.param({"HostConfig": {"DeviceRequests": [{"DeviceIDs": ["0", "1"]}]}}, "device=0,1", id="devices"),
        pytest.param(
            {"HostConfig": {"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]}},
            "nvidia.com/gpu=all",
            id="cdi",
        ),
        pytest.param(
            {"HostConfig": {"Runtime": "nvidia"}, "Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=0"]}}, "0", id="env"
        ),
        pytest.param(
            {"HostConfig": {"Runtime": "nvidia"}, "Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=void"]}}, None, id="void"
        ),
        pytest.param(
            {"HostConfig": {"Runtime": "runc"}, "Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=all"]}}, None, id="runc"
        ),
        pytest.param({"HostConfig": {"DeviceRequests": None, "Memory": 0}}, None, id="none"),
        pytest.param({}, None, id="nothing-known"),
    ],
)
def test_which_gpus_a_container_has(details: dict[str, Any], gpus: str | None) -> None:
    run = describe_run(details)
    assert run.gpus == gpus
    assert run.memory_limit is None


def ended(finished: str, *, running: bool = False, code: int = 0) -> dict[str, Any]:
    state = {"Running": running, "FinishedAt": finished, "ExitCode": code}
    return {"Name": "/vllm-prev", "State": state, "HostConfig": {"DeviceRequests": [{"Count": -1}]}}


def test_a_container_that_just_stopped() -> None:
    exited = describe_exited(ended("2026-11-29T11:57:30.123456789Z", code=137), NOW)
    assert exited is not None
    assert (exited.name, exited.exit_code, exited.seconds_ago, exited.gpu) == ("vllm-prev", 137, 150, True)


@pytest.mark.parametrize(
    "details",
    [
        pytest.param(ended("2026-11-29T11:57:30Z", running=True), id="started-again"),
        pytest.param(ended("2026-11-29T11:00:00Z"), id="long-ago"),
        pytest.param(ended("2026-11-29T12:10:00Z"), id="in-the-future"),
        pytest.param(ended("0001-01-01T00:00:00Z"), id="never-ran"),
        pytest.param(ended("yesterday"), id="no-time"),
        pytest.param({}, id="nothing-known"),
    ],
)
def test_containers_that_did_not(details: dict[str, Any]) -> None:
    assert describe_exited(details, NOW) is None


@given(st.floats(0, 3 * RECENT_S))
def test_only_recent_ends_count(ago: float) -> None:
    finished = datetime.fromtimestamp(NOW - int(ago), tz=UTC).isoformat()
    assert (describe_exited(ended(finished), NOW) is not None) is (int(ago) <= RECENT_S)
