"""A Docker daemon of our own, and images on it. Whatever is missing fails loudly: nothing is skipped."""

import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import build_image
from testing.docker_daemon import DockerDaemon
from testing.docker_images import ENGINE, make_images
from tests.docker.guard_image import GUARDED, TARGETS


@pytest.fixture(scope="session")
def started() -> Iterator[DockerDaemon]:
    """The daemon of this run, with its images; stopped at the end, its containers with it."""
    given = os.environ.get("MOET_BOOT_TEST_DOCKER")
    # not below pytest's own folders: a killed daemon leaves mounts that pytest could not clear away
    daemon = DockerDaemon(Path(given) if given else Path(tempfile.mkdtemp(prefix="moet-docker-")))
    try:
        daemon.start("--live-restore")
        client = daemon.client()
        make_images(client)
        client.close()
        yield daemon
    finally:
        if daemon.running:
            daemon.remove_all()
            daemon.stop()
        daemon.erase()


@pytest.fixture
def daemon(started: DockerDaemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerDaemon]:
    """The daemon for one test: running, and the one that DOCKER_HOST names; no container outlives the test."""
    monkeypatch.setenv("DOCKER_HOST", started.address)
    yield started
    started.thaw()
    if not started.running:
        started.start("--live-restore")
    started.remove_all()


@pytest.fixture
def client(daemon: DockerDaemon) -> Iterator[Any]:
    """The SDK's client, for looking and for meddling."""
    found = daemon.client()
    yield found
    found.close()


@pytest.fixture(scope="session")
def guarded(started: DockerDaemon, arch: str) -> str:
    """The name of the guard image over the scripted engine, built as a person would build it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", started.address)
        assert build_image.main([TARGETS[arch], "--base", ENGINE, "--tag", GUARDED]) == 0
    return GUARDED


@pytest.fixture(scope="session")
def arch() -> str:
    """This machine's architecture as images name it."""
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
