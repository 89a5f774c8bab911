import os
import socket
from pathlib import Path

import pytest

from moet_boot.supervise.notify import SystemdNotifier


def test_lines_arrive_as_one_datagram(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        assert SystemdNotifier({"NOTIFY_SOCKET": path}).send("READY=1", "STATUS=serving")
        assert systemd.recv(4096) == b"READY=1\nSTATUS=serving"


def test_an_abstract_socket_is_reached() -> None:
    name = f"moet-boot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name)
        assert SystemdNotifier({"NOTIFY_SOCKET": "@" + name}).send("READY=1")
        assert systemd.recv(4096) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "host:80"], ids=["none", "missing", "unknown kind"])
def test_without_systemd_nothing_happens(address: str) -> None:
    assert not SystemdNotifier({"NOTIFY_SOCKET": address}).send("READY=1")


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "10000000"}, 5.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": str(os.getpid())}, 5.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
    ids=["any process", "this process", "another process", "no number", "zero", "off"],
)
def test_the_watchdog_interval(environment: dict[str, str], seconds: float | None) -> None:
    assert SystemdNotifier(environment).watchdog_s == seconds
