"""How tests start the scripted engine: `argv(port)` and `environment(knob=value, ...)`; knobs are in engine.py."""

import json
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAM = Path(__file__).with_name("engine.py")
MODEL = "demo-model"
_PORTS = range(20_000, 32_768)
"""Below `net.ipv4.ip_local_port_range`."""


def argv(port: int, *flags: str, name: str = MODEL) -> tuple[str, ...]:
    """The command line; -S -E keep the start of the interpreter short."""
    command = (sys.executable, "-S", "-E", str(PROGRAM), "serve", "model")
    return (*command, "--host", "127.0.0.1", "--port", str(port), "--served-model-name", name, *flags)


def environment(**knobs: object) -> dict[str, str]:
    """The variable that tells it how to behave."""
    return {"SCRIPTED_ENGINE": json.dumps(knobs)}


def free_port() -> int:
    """A port of the loopback that nobody uses, and that the kernel gives to nobody who asks for any."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def listener(port: int | None) -> Iterator[socket.socket]:
    """Somebody else on this port."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port or 0))
        other.listen()
        yield other
