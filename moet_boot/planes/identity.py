"""The names under which a server recognises its caches: checkpoint ids and keys (planes.md d.3, d.5, e.1).

Everything here is pure; `checkpoint_identity.py` reads what the ids are made of.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from moet_boot.errors import UsageError

INDEX_FILES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
KEY_DIGITS = 20
_V2_DOMAIN = b"moe-w2-checkpoint-stat-v2\0"
_COMMIT = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)


@dataclass(frozen=True)
class ShardStat:
    """One weight file as a v2 id sees it: `resolved_blob` is the last part of its real path."""

    name: str
    resolved_blob: str
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True)
class CheckpointFiles:
    """What a v2 id hashes of a local checkpoint: sha256 digests (32 raw bytes) and file states."""

    config_sha256: bytes | None
    index_sha256: tuple[tuple[str, bytes], ...]
    shards: tuple[ShardStat, ...]


def canonical_json(value: Mapping[str, object]) -> str:
    """JSON with sorted keys and no blanks: what keys are hashed from."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def short_key(value: Mapping[str, object]) -> str:
    """The first 20 hex digits of the sha256 of an object's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:KEY_DIGITS]


def ckpt_id_v1(model: str, index: bytes | None) -> str:
    """sha1 of the model string, exactly as the server gets it, and of the index file's bytes.

    `index` is None when `<model>/model.safetensors.index.json` does not exist (always for a hub id).
    """
    return hashlib.sha1(model.encode() + (index or b""), usedforsecurity=False).hexdigest()


def ckpt_id_v2(model: str, revision: str, files: CheckpointFiles | None) -> str:
    """sha256 over the model string, the revision and the state of every weight file.

    `files` is None when the model string is no directory. Raises UsageError when it then has no immutable
    revision: such a server uses no cache at all.
    """
    digest = hashlib.sha256(_V2_DOMAIN + model.encode() + b"\0" + revision.encode())
    if files is None:
        if not is_commit(revision):
            raise UsageError(
                f"a v2 server has no identity for the model {model!r}: it is no local folder, "
                f"and its revision {revision!r} is not 40 hex digits",
                fix="serve a local checkpoint, pin --revision to a commit, or set VLLM_MOE_W2_CKPT_ID",
            )
        return digest.hexdigest()
    if files.config_sha256 is not None:
        digest.update(b"config.json\0" + files.config_sha256)
    for name, sha256 in files.index_sha256:
        digest.update(name.encode() + sha256)
    for shard in sorted(files.shards, key=lambda found: found.name):
        digest.update(canonical_json(asdict(shard)).encode())
    return digest.hexdigest()


def is_commit(revision: str) -> bool:
    """Whether a revision cannot move: 40 hex digits."""
    return _COMMIT.fullmatch(revision) is not None


def looks_local(model: str) -> bool:
    """Whether a model string names a folder and not a repository of a hub (`owner/name`)."""
    return model.startswith(("/", ".", "~")) or model.count("/") > 1


def rank_suffix(rank: int, world: int) -> str:
    """How a tensor-parallel rank appears in a pack's name: `rank0of1`."""
    return f"rank{rank}of{world}"
