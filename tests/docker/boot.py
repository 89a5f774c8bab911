"""A `serve` whose server is a container of the scripted engine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from moet_boot.receipts.store import ReceiptStore
from testing.docker_images import ENGINE
from tests.scripted_engine import start as scripted
from tests.serve.scripted import Serve, last_receipt, running, write_profile

NAME = "moet-boot-container"
WHY = 'why = "a test"\nsource = "tests"\n'


def write_container_profile(
    folder: Path, port: int, arch: str, *, image: str = ENGINE, knobs: dict[str, Any] | None = None, **options: Any
) -> Path:
    """A profile that starts the scripted engine's image; `options` are those of `write_profile`."""
    below = write_profile(folder, port, **options)
    lines = [
        'schema = "moet-boot/profile/v1"',
        f'extends = "{below}"',
        'name = "container"',
        '[engine]\nruntime = "docker"\nmodel = "/model"',
        f'[container]\nimage = "{image}"\nimage_arch = "{arch}"\ngpus = ""\nipc = "host"\n{WHY}',
        f"[env.SCRIPTED_ENGINE]\nvalue = {json.dumps(json.dumps(knobs or {}))}\n{WHY}",
        f'[mounts.checkpoint]\nartefact = "checkpoint"\ntarget = "/model"\n{WHY}',
    ]
    path = folder / "container.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@contextmanager
def booting(
    folder: Path, arch: str, *arguments: str, port: int | None = None, image: str = ENGINE, **knobs: Any
) -> Iterator[Serve]:
    """A serve of a container; it is killed at the end of the test."""
    options = {name: knobs.pop(name) for name in ("deadline_s", "budget", "floors") if name in knobs}
    chosen = port or scripted.free_port()
    profile = write_container_profile(folder, chosen, arch, image=image, knobs=knobs, **options)
    with running(Serve(folder, str(profile), chosen, arguments, {})) as run:
        yield run


def state_of(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.containers.get(NAME).attrs["State"]
    return found


def pids_of(client: Any) -> list[int]:
    """The pids of the container on this machine."""
    return [int(row[1]) for row in client.containers.get(NAME).top()["Processes"]]


def server_log() -> str:
    """The log of the newest boot's first attempt."""
    return (ReceiptStore().folder(last_receipt().id) / "server-1.log").read_text(errors="replace")
