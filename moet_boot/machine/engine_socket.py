"""How to reach the container engine: Docker or Podman, of the system or of the user."""

import os
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


@contextmanager
def engine_client(timeout_s: float) -> Iterator[Any]:
    """A client of the Docker SDK. Raises UnreadError with the reason when the engine cannot be reached."""
    address = find_engine(os.environ)
    try:
        import docker  # noqa: PLC0415  (an optional extra, and slow to import)
        from docker.errors import DockerException  # noqa: PLC0415
    except ImportError:
        raise UnreadError("the Docker SDK is not installed: pip install 'moet-boot[docker]'") from None
    client = None
    try:
        environment = {**os.environ, "DOCKER_HOST": address}
        client = docker.from_env(timeout=timeout_s, environment=environment)
        yield client
    except (DockerException, OSError) as failure:
        raise UnreadError(_reason(failure)) from None
    finally:
        if client is not None:
            client.close()


def _reason(failure: Exception) -> str:
    text = str(failure)
    if "PermissionError" in text or isinstance(failure, PermissionError):
        return "the container engine's socket is not open to this user (group docker)"
    if "FileNotFoundError" in text or "Connection refused" in text or "ConnectionRefused" in text:
        return "no container engine answers at its socket"
    return f"the container engine answered: {text:.200}"
