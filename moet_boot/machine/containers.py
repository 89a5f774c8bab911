"""What the container engine says: itself, the image, the containers. Reads only."""

import os
import re
import shutil
import subprocess
import time
from typing import Any

from moet_boot.machine.cdi import read_cdi
from moet_boot.machine.engine_answers import (
    Json,
    describe_container,
    describe_engine,
    describe_exited,
    describe_image,
    describe_run,
)
from moet_boot.machine.engine_socket import engine_client
from moet_boot.machine.facts.containers import Docker, DockerImage, ExitedContainer
from moet_boot.machine.supervisor_mark import is_gone
from moet_boot.machine.tree import Tree, UnreadError

MAX_INSPECTED = 8
TOOLKIT_S = 2.0
_JUST_NOW = re.compile(r"\) (Less than a second|About a minute|\d+ (second|minute)s?) ago")
_VERSION = re.compile(r"version v?(\d+(?:\.\d+)+)")


def read_docker(tree: Tree, image: str | None, container: str | None, timeout_s: float) -> Docker:
    """The engine as far as it answers; that it is absent or silent is an answer too."""
    try:
        with engine_client(timeout_s) as client:
            return _ask(client, tree, image, container)
    except UnreadError as reason:
        return Docker(present=False, error=str(reason), cdi_devices=read_cdi(tree))


def _ask(client: Any, tree: Tree, image: str | None, container: str | None) -> Docker:
    version, info, listed = client.version(), client.info(), client.api.containers(all=True)
    recent = [row for row in listed if _JUST_NOW.search(row.get("Status") or "")][:MAX_INSPECTED]
    containers = [describe_container(row, is_gone) for row in listed]
    exists = any(existing.name == container for existing in containers)
    engine = describe_engine(version, info)
    return engine.model_copy(
        update={
            "cdi_devices": engine.cdi_devices or read_cdi(tree),
            "direct_kill": engine.rootless or os.geteuid() == 0,
            "toolkit_version": toolkit_version(),
            "image": _image(client, image) if image else None,
            "run": describe_run(client.api.inspect_container(container)) if exists else None,
            "recently_exited": _exited(client, recent),
            "containers": containers,
        }
    )


def toolkit_version() -> str | None:
    """Version of the NVIDIA container toolkit, where it is installed."""
    program = shutil.which("nvidia-ctk")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=TOOLKIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return found.group(1) if found else None


def _image(client: Any, ref: str) -> DockerImage:
    from docker.errors import ImageNotFound  # noqa: PLC0415  (an optional extra)

    try:
        return describe_image(ref, client.api.inspect_image(ref))
    except ImageNotFound:
        name, _, pinned = ref.partition("@")
        here = _image(client, name).digests if pinned else []
        return DockerImage(ref=ref, present=False, digests=here)


def _exited(client: Any, rows: list[Json]) -> list[ExitedContainer]:
    from docker.errors import NotFound  # noqa: PLC0415  (an optional extra)

    found: list[ExitedContainer] = []
    for row in rows:
        try:
            ended = describe_exited(client.api.inspect_container(row["Id"]), time.time())
        except NotFound:
            continue  # removed since it was listed
        if ended is not None:
            found.append(ended)
    return found
