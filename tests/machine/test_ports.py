import os
import socket

import pytest

from moet_boot.machine.ports import Listener, pick_ports, reach, read_ports
from moet_boot.machine.tree import Tree


@pytest.mark.parametrize(
    ("ip", "shown"),
    [
        ("0.0.0.0", "0.0.0.0"),
        ("127.0.0.1", "127.0.0.1"),
        ("::", "::"),
        ("::1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:0.0.0.0", "0.0.0.0"),
        ("192.168.1.5", "specific"),
        ("fe80::1%eth0", "specific"),
    ],
)
def test_only_addresses_that_say_nothing_are_kept(ip: str, shown: str) -> None:
    assert reach(ip) == shown


def test_ports_in_order_each_address_once() -> None:
    listeners = [Listener(8000, "0.0.0.0", 5), Listener(22, "::", None), Listener(8000, "0.0.0.0", 5)]
    ports = pick_ports(listeners, {5: "vllm"}.get)
    assert [(port.port, port.address, port.process, port.pid) for port in ports] == [
        (22, "::", None, None),
        (8000, "0.0.0.0", "vllm", 5),
    ]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["ipv4", "ipv6"])
def test_a_real_listener_is_found_with_its_owner(family: socket.AddressFamily) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        except OSError:
            assert family == socket.AF_INET6, "this machine must have IPv4"
            return
        listener.listen()
        number = listener.getsockname()[1]
        (port,) = [port for port in read_ports(Tree()) if port.port == number]
    assert port.pid == os.getpid()
    assert port.process is not None
    assert port.address in {"127.0.0.1", "::1"}


def test_a_socket_that_does_not_listen_is_not_in_use() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert bound.getsockname()[1] not in {port.port for port in read_ports(Tree())}
