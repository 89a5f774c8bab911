import os
from pathlib import Path

import pytest

from moet_boot.machine.container_members import (
    container_id,
    gpus_with_containers,
    names_by_pid,
    ports_with_containers,
)
from moet_boot.machine.snapshot import Container, Gpu, GpuProcess, Nvml, Port
from moet_boot.machine.tree import Tree
from tests.machine.trees import tree_of

ID = "0123456789ab" + "c" * 52
SHORT = "0123456789ab"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"0::/system.slice/docker-{ID}.scope", id="docker-systemd"),
        pytest.param(f"4:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}", id="docker-v1"),
        pytest.param(f"0::/user.slice/user-1000.slice/libpod-{ID}.scope/container", id="podman"),
        pytest.param(f"0::/kubepods.slice/cri-containerd-{ID}.scope", id="containerd"),
    ],
)
def test_a_process_in_a_container(tmp_path: Path, path: str) -> None:
    assert container_id(tree_of(tmp_path, {"/proc/7/cgroup": path}), 7) == SHORT


@pytest.mark.parametrize(
    "path", ["0::/user.slice/session-1.scope", "", "0::/", "4:memory:/job/" + "a" * 32, "0::/x" + "a" * 70]
)
def test_a_process_of_the_host(tmp_path: Path, path: str) -> None:
    assert container_id(tree_of(tmp_path, {"/proc/7/cgroup": path}), 7) is None


def test_a_process_that_ended(tmp_path: Path) -> None:
    assert container_id(tree_of(tmp_path, {}), 7) is None


def test_names_by_pid(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"/proc/7/cgroup": f"0::/docker/{ID}", "/proc/8/cgroup": "0::/"})
    name_of = names_by_pid(tree, [Container(name="c", state="running", id=SHORT), Container(name="x", state="dead")])
    assert [name_of(7), name_of(8), name_of(9)] == ["c", None, None]


def test_without_ids_no_process_is_looked_up() -> None:
    assert names_by_pid(Tree(), [Container(name="x", state="running")])(os.getpid()) is None


def test_the_container_behind_a_proxy_is_named() -> None:
    ports = [Port(port=8001, process="docker-proxy", pid=5), Port(port=22, process="sshd", pid=6)]
    containers = [Container(name="other-vllm", state="running", ports=[8001])]
    joined = ports_with_containers(ports, containers, lambda _: None)
    assert [(port.port, port.container) for port in joined] == [(8001, "other-vllm"), (22, None)]


def test_the_container_with_the_hosts_network_is_named_by_its_process() -> None:
    joined = ports_with_containers([Port(port=8010, pid=5)], [], {5: "other-vllm"}.get)
    assert joined[0].container == "other-vllm"


def test_a_port_that_a_container_publishes_without_a_proxy_is_taken_too() -> None:
    containers = [Container(name="other-vllm", state="running", ports=[8001, 8002])]
    joined = ports_with_containers([], containers, lambda _: None)
    assert [(port.port, port.container) for port in joined] == [(8001, "other-vllm"), (8002, "other-vllm")]


def test_processes_on_the_gpu_are_named_by_their_containers() -> None:
    nvml = Nvml(init="OK", gpus=[Gpu(index=0, processes=[GpuProcess(pid=5), GpuProcess(pid=6)])])
    joined = gpus_with_containers(nvml, {5: "other-vllm"}.get)
    assert [process.container for process in joined.gpus[0].processes] == ["other-vllm", None]
