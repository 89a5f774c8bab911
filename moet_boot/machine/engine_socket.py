"""How to reach the container engine: Docker or Podman, of the system or of the user."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from moet_boot.machine.tree import UnreadError

SYSTEM_SOCKETS = ("/var/run/docker.sock", "/run/podman/podman.sock")
USER_SOCKETS = ("docker.sock", "podman/podman.sock")


def find_engine(environment: Mapping[str, str], exists: Callable[[Path], bool] = Path.exists) -> str:
    """The address to use: DOCKER_HOST, else the first socket there is. Raises UnreadError when there is none."""
    given = environment.get("DOCKER_HOST")
    if given:
        return given
    runtime = environment.get("XDG_RUNTIME_DIR")
    sockets = [*SYSTEM_SOCKETS, *(f"{runtime}/{name}" for name in USER_SOCKETS if runtime)]
    found = next((socket for socket in sockets if exists(Path(socket))), None)
    if found is None:
        raise UnreadError(f"no container engine listens here (looked for {', '.join(sockets)})")
    return f"unix://{found}"


def knock(address: str, timeout_s: float) -> None:
    """Find out whether anybody listens at a Unix socket. Raises UnreadError with the reason."""
    scheme, _, path = address.partition("://")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(timeout_s)
        try:
            door.connect(path)
        except PermissionError:
            raise UnreadError(f"{path} is not open to this user (group docker)") from None
        except OSError as failure:
            raise UnreadError(f"no container engine answers at {path}: {failure.strerror or failure}") from None


@contextmanager
def engine_client(timeout_s: float) -> Iterator[Any]:
    """A client of the Docker SDK. Raises UnreadError with the reason when the engine cannot be reached."""
    address = find_engine(os.environ)
    knock(address, timeout_s)
    try:
        import docker  # noqa: PLC0415  (an optional extra, and slow to import)
        from docker.errors import DockerException  # noqa: PLC0415
    except ImportError:
        raise UnreadError("the Docker SDK is not installed: pip install 'moet-boot[docker]'") from None
    client = None
    try:
        client = docker.from_env(timeout=timeout_s, environment={**os.environ, "DOCKER_HOST": address})
        yield client
    except (DockerException, OSError) as failure:
        raise UnreadError(f"the container engine cannot be used: {failure!s:.200}") from None
    finally:
        if client is not None:
            client.close()
