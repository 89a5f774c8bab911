"""What is started as a process, whether it can be, and whether its port is free."""

import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from moet_boot.errors import ArtefactMissingError, MoetBootError


@dataclass(frozen=True)
class Command:
    """What is started. `env` is added to this process's environment; `leash` is an argv put before, which execs.

    `host` and `port`: where it will listen; the stop proves that the port is free again.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    leash: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int | None = None


def find_program(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> str:
    """The program that `argv` would run. Raises MoetBootError subclasses when there is none that can be run."""
    if not argv or not argv[0]:
        raise MoetBootError("the plan has no command to start", fix="set engine.command in the profile")
    name = str((cwd or Path()) / argv[0]) if "/" in argv[0] else argv[0]
    found = shutil.which(name, path=env.get("PATH", os.environ.get("PATH", os.defpath)))
    if found:
        return found
    if Path(name).is_file():
        raise MoetBootError(f"{name} is not executable", fix=f"chmod +x {name}, or correct engine.command")
    raise ArtefactMissingError(
        f"the server's program {argv[0]} does not exist", fix="install the engine, or correct engine.command"
    )


def port_is_free(command: Command) -> bool:
    """Whether the command's port can be bound now; True when it has none."""
    if not command.port:
        return True
    family = socket.AF_INET6 if ":" in command.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # past connections in TIME_WAIT do not count; a listener does
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((command.host or "0.0.0.0", command.port))  # noqa: S104  (only asked, never listened on)
        except OSError:
            return False
    return True
