"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable

from moet_boot.launch.container import ContainerServer


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def wait_up(server: ContainerServer) -> None:
    wait_for(lambda: b"up\n" in server.log_tail())
