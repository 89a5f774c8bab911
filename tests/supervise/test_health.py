import os
import time
from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer

from moet_boot.supervise.health import why_unhealthy
from moet_boot.supervise.inside import read_inside
from moet_boot.supervise.status import Status, process_start, write_status


@pytest.fixture(scope="module")
def listening() -> Iterator[HTTPServer]:
    with HTTPServer(port=0) as found:
        yield found


@pytest.fixture
def server(listening: HTTPServer) -> HTTPServer:
    listening.clear()
    return listening


def supervised(*, ready: bool, endpoints_port: int | None = None, alive: bool = True) -> None:
    """A status file as a supervisor in this container would write it."""
    write_status(
        Status(
            profile="demo",
            url="http://127.0.0.1:1",
            port=1,
            receipt="r",
            supervisor_pid=os.getpid(),
            supervisor_start=(process_start(os.getpid()) or 0.0) - (0 if alive else 100),
            phase="loading weights",
            ready=ready,
            started_at=time.time(),
            updated_at=time.time(),
            endpoints_port=endpoints_port,
        )
    )


def asked(**env: str) -> str:
    env = {"MOET_BOOT_PROFILE": "demo", **env}
    return why_unhealthy(read_inside(env, []), env)


def test_nobody_supervises() -> None:
    assert asked() == "no supervisor runs here"


def test_a_supervisor_that_is_gone() -> None:
    supervised(ready=True, alive=False)
    assert asked() == "no supervisor runs here"


@pytest.mark.parametrize(("ready", "expected"), [(True, ""), (False, "not ready: loading weights")])
def test_without_an_endpoint_the_status_file_counts(ready: bool, expected: str) -> None:
    supervised(ready=ready)
    assert asked() == expected


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [(200, "ready\n", ""), (503, "loading weights for 41 s\n", "503 loading weights for 41 s")],
)
def test_the_supervisors_endpoint_has_the_word(server: HTTPServer, status: int, body: str, expected: str) -> None:
    server.expect_request("/readyz").respond_with_data(body, status=status)
    supervised(ready=not expected, endpoints_port=server.port)
    assert asked().endswith(expected)
    assert bool(asked()) is bool(expected)


def test_an_endpoint_that_does_not_answer() -> None:
    supervised(ready=True, endpoints_port=1)
    assert asked().startswith("http://127.0.0.1:1/readyz: ConnectError")


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (404, False)])
def test_in_exec_mode_the_server_itself_is_asked(server: HTTPServer, status: int, healthy: bool) -> None:
    server.expect_request("/health").respond_with_data("", status=status)
    reason = asked(MOET_BOOT_MODE="exec", MOET_BOOT_SET=f"port={server.port}")
    assert (reason == "") is healthy
