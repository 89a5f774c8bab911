from typing import Any

import pytest

from moet_boot.checks.finding import Status
from moet_boot.checks.network import is_loopback
from tests.checks.cases import case_of, judge_by, said


def listener(**facts: Any) -> dict[str, Any]:
    return {"ports_in_use": [{"port": 22, "process": "sshd"}, {"port": 8010, **facts}]}


@pytest.mark.parametrize(
    ("changes", "sets", "status", "words"),
    [
        pytest.param({}, (), "pass", ["8010 is free"], id="free"),
        pytest.param(
            listener(process="docker-proxy", container="nemoclaw-vllm"),
            (),
            "refuse",
            ["container nemoclaw-vllm", "port=8011"],
            id="a-container",
        ),
        pytest.param(listener(process="python3", pid=4711), (), "refuse", ["python3 (pid 4711)"], id="a-process"),
        pytest.param(listener(), (), "refuse", ["cannot see"], id="nobody-that-this-user-sees"),
        pytest.param(listener(process="x"), ("port=8011",), "pass", ["8011 is free"], id="another-port"),
        pytest.param(listener(process="x", address="0.0.0.0"), (), "refuse", [], id="on-all-addresses"),
        pytest.param(listener(process="x", address="::"), (), "refuse", [], id="on-all-v6-addresses"),
        pytest.param(listener(process="x", address="127.0.0.1"), (), "refuse", [], id="on-loopback"),
        pytest.param(listener(process="x", address="specific"), (), "pass", [], id="on-another-address"),
        pytest.param(listener(process="x", address="specific"), ("host=0.0.0.0",), "refuse", [], id="we-take-all"),
        pytest.param({"ports_in_use": None}, (), "skipped", [], id="not-read"),
    ],
)
def test_port(changes: dict[str, Any], sets: tuple[str, ...], status: str, words: list[str]) -> None:
    finding = judge_by("NET.PORT", case_of("spark", changes, sets=sets))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("name", "orphan", "status"),
    [("moet-boot-spark", True, "warn"), ("moet-boot-spark", False, "refuse"), ("another", True, "refuse")],
    ids=["it lost its moet-boot", "it has one", "another one lost it"],
)
def test_a_port_of_a_container_that_the_next_serve_ends(name: str, orphan: bool, status: str) -> None:
    taken = [{"port": 8010, "pid": 4, "process": "python3", "container": "moet-boot-spark"}]
    containers = [{"name": name, "state": "running", "ours": True, "orphan": orphan}]
    finding = judge_by("NET.PORT", case_of("spark", {"ports_in_use": taken, "docker.containers": containers}))
    assert finding.status == status, finding
    assert ("moet-boot stop" in finding.fix) is (status == "warn")


def test_the_port_that_is_offered_is_free() -> None:
    taken = [{"port": port} for port in range(8010, 8020)]
    assert "--set port=8020" in judge_by("NET.PORT", case_of("spark", {"ports_in_use": taken})).fix


@pytest.mark.parametrize(
    ("sets", "extra", "status"),
    [
        pytest.param((), (), "pass", id="loopback"),
        pytest.param(("host=localhost",), (), "pass", id="localhost"),
        pytest.param(("host=::1",), (), "pass", id="v6-loopback"),
        pytest.param(("host=0.0.0.0",), (), "warn", id="everybody"),
        pytest.param(("host=192.168.1.5",), (), "warn", id="the-network"),
        pytest.param(("host=0.0.0.0",), ("--api-key", "secret"), "pass", id="with-a-key"),
        pytest.param(("host=0.0.0.0", "VLLM_API_KEY=secret"), (), "pass", id="with-a-key-in-the-environment"),
    ],
)
def test_exposure(sets: tuple[str, ...], extra: tuple[str, ...], status: str) -> None:
    finding = judge_by("NET.EXPOSURE", case_of("rtx6000-b", sets=sets, extra=extra))
    assert finding.status == status
    assert "secret" not in said(finding)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("[::1]", True), ("", False), ("example.org", False)],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_exposure_needs_no_facts_of_the_machine() -> None:
    assert judge_by("NET.EXPOSURE", case_of("spark", {"ports_in_use": None})).status is Status.PASS
