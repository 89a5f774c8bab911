"""Images for tests, made on the spot: a base, the scripted engine on it, one for another architecture."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testing.base_image import base_archive

BASE = "moet-test-base:1"
ENGINE = "moet-test-engine:1"
OTHER_ARCH = "moet-test-other-arch:1"
ENTRYPOINT = ["/usr/local/bin/python3", "-S", "-E", "/tests/scripted_engine/engine.py", "serve"]
_TESTS = Path(__file__).parents[1] / "tests"
_PROGRAM = _TESTS / "scripted_engine" / "engine.py"
_LOGS = _TESTS / "data" / "engine_logs"


def make_images(client: Any) -> None:
    """Base and scripted engine, and an image that says it is for another architecture."""
    client.api.import_image_from_data(base_archive(), repository=BASE.partition(":")[0], tag=BASE.partition(":")[2])
    build(
        client,
        ENGINE,
        f"FROM {BASE}\nCOPY tests /tests\nENTRYPOINT {json.dumps(ENTRYPOINT)}\nCMD []\n",
        files={str(path.relative_to(_TESTS.parent)): path for path in (_PROGRAM, *sorted(_LOGS.iterdir()))},
    )
    client.images.load(_archive_for(_other(client.version()["Arch"]), OTHER_ARCH))


def build(client: Any, tag: str, dockerfile: str, files: Mapping[str, Path] | None = None) -> None:
    """An image of a Dockerfile; `files` by their names in the context."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as context:
        _put(context, "Dockerfile", dockerfile.encode())
        for name, path in (files or {}).items():
            context.add(path.resolve(), name)
    buffer.seek(0)
    client.images.build(fileobj=buffer, custom_context=True, tag=tag, rm=True, network_mode="none")


def _other(arch: str) -> str:
    return "amd64" if arch == "arm64" else "arm64"


def _archive_for(arch: str, tag: str) -> bytes:
    """An archive as `docker save` writes it, of one layer with one file."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        _put(files, "serve", b"a program of another machine")
    config = {
        "architecture": arch,
        "os": "linux",
        "config": {"Entrypoint": ["/serve"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as files:
        _put(files, "config.json", json.dumps(config).encode())
        _put(files, "layer.tar", layer.getvalue())
        _put(files, "manifest.json", json.dumps(manifest).encode())
    return archive.getvalue()


def _put(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
