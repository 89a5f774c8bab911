import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.errors import BusyError
from moet_boot.launch.plan import LaunchPlan
from moet_boot.supervise.effects import Probe
from moet_boot.supervise.occupied import hold_port, own_server, port_is_free, refuse_taken_port
from moet_boot.supervise.status import Status, process_start, write_status
from tests.supervise.fakes import PLAN


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as uvicorn does
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


@pytest.fixture
def plan(listener: socket.socket) -> LaunchPlan:
    return replace(PLAN, port=listener.getsockname()[1])


def say(plan: LaunchPlan, **changes: object) -> None:
    values: dict[str, object] = {
        "profile": "demo",
        "url": plan.url,
        "port": plan.port,
        "receipt": "r",
        "plan_digest": plan.digest,
        "supervisor_pid": os.getpid(),
        "supervisor_start": process_start(os.getpid()),
        "phase": "serving",
        "ready": True,
        "started_at": time.time(),
        "updated_at": time.time(),
    }
    write_status(Status.model_validate(values | changes))


def good() -> Probe:
    return Probe(ok=True)


def test_a_free_port_is_nobodys(plan: LaunchPlan, listener: socket.socket) -> None:
    listener.close()
    assert own_server(plan, good) is None
    refuse_taken_port(plan)


def test_our_own_healthy_server_is_recognised(plan: LaunchPlan) -> None:
    say(plan)
    found = own_server(plan, good)
    assert found is not None
    assert found.profile == "demo"


def test_a_stranger_is_busy_and_named(plan: LaunchPlan) -> None:
    with pytest.raises(BusyError, match=f"port {plan.port} is taken by .*pid {os.getpid()}"):
        refuse_taken_port(plan)


def test_the_status_of_a_dead_supervisor_proves_nothing(plan: LaunchPlan) -> None:
    say(plan, supervisor_start=5.0)
    assert own_server(plan, good) is None
    with pytest.raises(BusyError, match="not by a server of moet-boot"):
        refuse_taken_port(plan)


@pytest.mark.parametrize(
    ("changes", "probe", "says"),
    [
        ({"ready": False, "phase": "loading weights"}, good(), "in the phase 'loading weights'"),
        ({"plan_digest": "other"}, good(), "with another plan"),
        ({}, Probe(ok=False, step="generate", fault="no token"), "does not answer"),
    ],
    ids=["still booting", "another plan", "hung"],
)
def test_our_own_server_that_is_not_this_one_or_not_well_is_busy(
    plan: LaunchPlan, changes: dict[str, object], probe: Probe, says: str
) -> None:
    say(plan, **changes)
    with pytest.raises(BusyError, match=says):
        own_server(plan, lambda: probe)


def test_two_supervisors_never_hold_one_port(tmp_path: Path) -> None:
    first = hold_port(8123, tmp_path)
    with pytest.raises(BusyError, match="another moet-boot is starting a server on port 8123"):
        hold_port(8123, tmp_path)
    first.release()
    hold_port(8123, tmp_path).release()


def test_a_port_in_time_wait_is_free(plan: LaunchPlan, listener: socket.socket) -> None:
    with socket.create_connection(("127.0.0.1", plan.port)) as client:
        accepted, _ = listener.accept()
        accepted.close()
        client.recv(1)
    listener.close()
    assert port_is_free("127.0.0.1", plan.port)
