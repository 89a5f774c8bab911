"""A container engine through the Docker SDK: typed answers, and errors that say what to do.

Everything raises MoetBootError; `EngineSilentError` is the one that may pass by itself (the daemon restarts or hangs).
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.launch.container_create import create_arguments
from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.docker_refusals import explain_refusal
from moet_boot.machine.engine_answers import image_digests
from moet_boot.machine.engine_socket import find_engine
from moet_boot.machine.tree import UnreadError

ANSWER_S = 10.0
"""How long one answer may take; creating a container copies nothing, and a healthy engine answers in milliseconds."""


class EngineSilentError(MoetBootError):
    """The engine cannot be reached or does not answer."""


@dataclass(frozen=True)
class ContainerState:
    """A container as the engine shows it. `pid` is None unless it runs; `started_at` is the engine's own text."""

    id: str
    name: str
    status: str
    pid: int | None
    exit_code: int
    oom_killed: bool
    error: str
    started_at: str
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether it has a process; a paused one has."""
        return self.pid is not None

    @property
    def ended(self) -> bool:
        """Whether it ran and is over."""
        return self.status in {"exited", "dead"}


@dataclass(frozen=True)
class ImageFacts:
    """An image that the engine has. `arch` as in GOARCH (`amd64`, `arm64`); `digests`: in registries, then its id."""

    arch: str
    digests: tuple[str, ...]


@dataclass(frozen=True)
class ContainerEvent:
    """Something that happened to a container, such as `kill` with its signal number, `oom`, `stop`.

    `at`: seconds since 1970.
    """

    action: str
    at: float
    signal: int | None = None


class DockerEngine:
    """One connection to an engine. Not to be shared by threads."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def find(self, name: str) -> ContainerState | None:
        """The container of this name or id, or None."""
        from docker.errors import NotFound  # noqa: PLC0415  (an extra, and slow to import)

        with _explained(f"look for the container {name}"):
            try:
                return _state(self._client.containers.get(name).attrs)
            except NotFound:
                return None

    def running_with(self, label: str) -> list[str]:
        """The ids of all containers that run and have this label."""
        with _explained("list the containers"):
            return [str(row["Id"]) for row in self._client.api.containers(filters={"label": label})]

    def image(self, reference: str) -> ImageFacts | None:
        """The image of this name, or None when the engine does not have it."""
        from docker.errors import ImageNotFound  # noqa: PLC0415

        with _explained(f"look for the image {reference}"):
            try:
                attributes = self._client.images.get(reference).attrs
            except ImageNotFound:
                return None
        return ImageFacts(arch=attributes.get("Architecture") or "", digests=tuple(image_digests(attributes)))

    def pull(self, reference: str, arch: str) -> None:
        """Fetch an image for one architecture; takes as long as the network needs."""
        with _explained(f"pull the image {reference}"):
            for step in self._client.api.pull(reference, stream=True, decode=True, platform=f"linux/{arch}"):
                if "error" in step:
                    raise explain_refusal(f"pull {reference}", step["error"])

    def create(self, request: ContainerRequest) -> str:
        """Create the container and return its id; nothing runs yet."""
        with _explained(f"create the container {request.name} of {request.image}"):
            return str(self._client.containers.create(**create_arguments(request)).id)

    def start(self, container: str) -> None:
        """Start a created container."""
        with _explained("start the container"):
            self._client.api.start(container)

    def signal(self, container: str, name: str) -> None:
        """Send a signal to the first process; fine when it has ended."""
        from docker.errors import APIError  # noqa: PLC0415

        with _explained(f"send {name} to the container"):
            try:
                self._client.api.kill(container, signal=name)
            except APIError as error:
                if error.status_code not in {404, 409}:
                    raise

    def remove(self, container: str) -> None:
        """Remove the container, killing it if it runs; fine when it is gone or on its way."""
        from docker.errors import APIError  # noqa: PLC0415

        with _explained("remove the container"):
            try:
                self._client.api.remove_container(container, force=True, v=True)
            except APIError as error:
                if error.status_code not in {404, 409}:
                    raise

    def logs(self, container: str, since: float | None) -> Any:
        """The log as frames of one line each, timestamps in front, until the container ends.

        An iterator with `close()`, which another thread may call.
        """
        with _explained("read the container's log"):
            return self._client.api.logs(
                container, stdout=True, stderr=True, stream=True, follow=True, timestamps=True, since=since
            )

    def events(self, container: str, since: float, until: float) -> list[ContainerEvent]:
        """What happened to the container between two moments (seconds since 1970), as far as the engine remembers."""
        with _explained("read the engine's events"):
            found = self._client.api.events(since=since, until=until, filters={"container": container}, decode=True)
            return [_event(event) for event in found]

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def connect(answer_s: float = ANSWER_S) -> DockerEngine:
    """Connect to the engine that DOCKER_HOST names, or to the first one of the usual sockets.

    Raises UsageError when the Docker SDK is not installed, EngineSilentError when no engine answers.
    """
    try:
        import docker  # noqa: PLC0415  (an extra: it may be missing)
    except ImportError:
        raise UsageError(
            "the Docker SDK for Python is not installed", fix="install it: pip install 'moet-boot[docker]'"
        ) from None
    with _explained("connect"):
        environment = {**os.environ, "DOCKER_HOST": find_engine(os.environ)}
        return DockerEngine(docker.from_env(timeout=answer_s, environment=environment))


@contextmanager
def _explained(doing: str) -> Iterator[None]:
    """What the SDK raises becomes an error of ours."""
    import requests  # noqa: PLC0415  (comes with the SDK)
    from docker.errors import APIError, DockerException  # noqa: PLC0415

    try:
        yield
    except APIError as error:
        raise explain_refusal(doing, str(error.explanation or error), error.status_code) from error
    except (DockerException, requests.RequestException, OSError, UnreadError) as error:
        if "permission denied" in str(error).lower():
            raise EngineSilentError(
                f"the container engine's socket may not be used by this user (to {doing})",
                fix="run moet-boot as root, or add the user to the docker group and log in again",
            ) from error
        raise EngineSilentError(
            f"the container engine does not answer (to {doing}): {_short(error)}",
            fix="start it (sudo systemctl start docker), or correct DOCKER_HOST, which names its socket",
        ) from error


def _state(attributes: dict[str, Any]) -> ContainerState:
    state = attributes["State"]
    return ContainerState(
        id=attributes["Id"],
        name=attributes["Name"].lstrip("/"),
        status=state["Status"],
        pid=state.get("Pid") or None,
        exit_code=state.get("ExitCode", 0),
        oom_killed=bool(state.get("OOMKilled")),
        error=state.get("Error") or "",
        started_at=state.get("StartedAt") or "",
        labels=attributes["Config"].get("Labels") or {},
    )


def _event(event: dict[str, Any]) -> ContainerEvent:
    number = event.get("Actor", {}).get("Attributes", {}).get("signal", "")
    at = float(event.get("timeNano") or 0) / 1e9 or float(event.get("time") or 0)
    return ContainerEvent(event.get("Action", ""), at, int(number) if number.isdigit() else None)


def _short(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error))[:200]
