"""Reads from a checkpoint's folder what its identities are made of."""

import hashlib
import json
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.planes.identity import (
    INDEX_FILES,
    CheckpointFiles,
    ShardStat,
    ckpt_id_v1,
    ckpt_id_v2,
    looks_local,
)
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.utf8 import is_utf8

MAX_JSON_BYTES = 64 << 20
_WEIGHT_SUFFIXES = (".safetensors", ".bin")


def checkpoint_id(server: ServerVersion, model_dir: Path | None, model: str, revision: str = "") -> str:
    """The id that a server computes for a checkpoint served under the string `model`.

    `model_dir` is where its files are for us. Raises UsageError when the server lacks a revision for an id,
    MoetBootError when the strings can be no part of one, and the artefact errors when the checkpoint's own
    files are missing or unreadable.
    """
    if not is_utf8(model + revision):
        what = f"the model string {model!r} with revision {revision!r} is no UTF-8, and servers make no id of it"
        raise MoetBootError(what, fix="serve the checkpoint from a path of plain text", code=Exit.USAGE)
    local = looks_local(model)
    if local and model_dir is None:
        raise ArtefactMissingError(
            f"the id of the checkpoint served as {model!r} is made from its files, and no folder was given",
            fix="name the checkpoint's folder, or give the id itself",
        )
    if server is ServerVersion.V1:
        index = _read_optional(model_dir / INDEX_FILES[0]) if local and model_dir else None
        return ckpt_id_v1(model, index)
    return ckpt_id_v2(model, revision, read_checkpoint_files(model_dir) if local and model_dir else None)


def read_checkpoint_files(model_dir: Path) -> CheckpointFiles:
    """Digests of the small files and the state of every shard; nothing big is read."""
    config = _read_optional(model_dir / "config.json")
    indexes = [(name, data) for name in INDEX_FILES if (data := _read_optional(model_dir / name)) is not None]
    names = {shard for name, data in indexes for shard in _shards_of(model_dir / name, data)}
    if not indexes:
        names = {path.name for path in _listing(model_dir) if path.suffix in _WEIGHT_SUFFIXES}
    return CheckpointFiles(
        config_sha256=None if config is None else hashlib.sha256(config).digest(),
        index_sha256=tuple((name, hashlib.sha256(data).digest()) for name, data in indexes),
        shards=tuple(_stat(model_dir / name, name) for name in sorted(names)),
    )


def read_checkpoint_indexes(model_dir: Path) -> dict[str, bytes]:
    """sha256 (32 raw bytes) of each weight index that exists."""
    found = {name: _read_optional(model_dir / name) for name in INDEX_FILES}
    return {name: hashlib.sha256(data).digest() for name, data in found.items() if data is not None}


def _stat(path: Path, name: str) -> ShardStat:
    try:
        state = path.stat()
        blob = path.resolve().name
    except OSError as failure:
        raise ArtefactMissingError(
            f"the checkpoint's index names {name}, and {path} cannot be read: {failure.strerror}",
            fix="complete the download of the checkpoint",
        ) from failure
    return ShardStat(name, blob, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _shards_of(path: Path, data: bytes) -> set[str]:
    try:
        weight_map = json.loads(data)["weight_map"]
        shards = set(weight_map.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        raise _damaged(path, "is not a weight index (JSON with a weight_map)") from failure
    if not all(isinstance(shard, str) and shard and "\0" not in shard and is_utf8(shard) for shard in shards):
        raise _damaged(path, "has shard names that are not text")
    return shards


def _read_optional(path: Path) -> bytes | None:
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > MAX_JSON_BYTES:
            raise _damaged(path, f"is larger than {MAX_JSON_BYTES} bytes")
        return path.read_bytes()
    except OSError as failure:
        raise _damaged(path, f"cannot be read: {failure.strerror}") from failure


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as failure:
        raise ArtefactMissingError(
            f"the checkpoint folder {folder} cannot be read: {failure.strerror}", fix="check the path"
        ) from failure


def _damaged(path: Path, what: str) -> ArtefactDamagedError:
    return ArtefactDamagedError(f"{path} {what}", fix="download the checkpoint's small files again")
