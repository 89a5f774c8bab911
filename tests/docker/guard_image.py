"""Running guard images in tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.scripted_engine.start import free_port
from tests.serve.scripted import wait_until

GUARDED = "moet-boot-test:1"
TARGETS = {"amd64": "sm120", "arm64": "gb10"}


def run_guard_image(
    client: Any,
    image: str,
    *arguments: str,
    mounts: Mapping[Path, str],
    env: Mapping[str, str] | None = None,
    knobs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Start a container with the demo's profile, as `docker run --detach` does; `container.port` is where it serves.

    `env` adds to its settings, `knobs` are those of the scripted engine, `mounts` are read-only.
    """
    port = free_port()
    settings = {
        "MOET_BOOT_PROFILE": "demo",
        "MOET_BOOT_SET": f"path.checkpoint=/model,port={port}",
        "SCRIPTED_ENGINE": json.dumps(knobs or {}),
    }
    container = client.containers.run(
        image,
        list(arguments),
        detach=True,
        network_mode="host",
        environment=settings | dict(env or {}),
        volumes={str(source): {"bind": target, "mode": "ro"} for source, target in mounts.items()},
        **options,
    )
    container.port = port
    return container


def wait_ready(container: Any, timeout_s: float = 60) -> None:
    """Wait until it says that it is ready, or in exec mode answers; its health check must agree."""

    def ready() -> bool:
        container.reload()
        log = container.logs().decode()
        assert container.status == "running", log
        return "] ready: " in log or "Application startup complete" in log

    wait_until(ready, timeout_s)
    health = container.exec_run(["moet-boot", "entrypoint", "--health"])
    assert health.exit_code == 0, health.output.decode()


def ended(container: Any) -> tuple[int, str]:
    """Wait for its end: exit code and log."""
    code = container.wait(timeout=120)["StatusCode"]
    return code, container.logs().decode()
