"""A checkpoint's folder: what its index declares, what of it lies there, and what is wrong with it."""

import json
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from moet_boot.errors import MoetBootError
from moet_boot.machine.facts.storage import Checkpoint, Shard
from moet_boot.machine.revision import find_origin, incomplete_downloads
from moet_boot.machine.shards import is_lfs_pointer, read_shard
from moet_boot.machine.tree import file_kind
from moet_boot.units import MIB

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MAX_JSON_BYTES = 256 * MIB
SIDE_FILES = ("config.json", INDEX, "tokenizer.json", "tokenizer_config.json", "generation_config.json")


def read_checkpoint(path: str) -> Checkpoint:
    """Everything about the checkpoint at `path` but the bytes of its tensors. Raises OSError for the folder itself."""
    folder = Path(path)
    kind = file_kind(folder)
    if kind is None:
        return Checkpoint(path=path, exists=False)
    if not S_ISDIR(kind):
        return Checkpoint(path=path, problems=[f"{path} is a file, not a checkpoint's folder"])
    names = {entry.name for entry in folder.iterdir()}
    problems = [f"{name} is a Git LFS pointer" for name in SIDE_FILES if name in names and _is_pointer(folder / name)]
    declared = _declared_shards(folder, names, problems)
    missing = [name for name in declared if file_kind(folder / name) is None]
    shards = [_shard(folder / name, problems) for name in declared if name not in missing]
    origin = find_origin(folder.absolute())
    if len(origin.revisions) > 1:
        problems.append(f"its files come from {len(origin.revisions)} revisions: {', '.join(origin.revisions)}")
    return Checkpoint(
        path=path,
        repo=origin.repo,
        revision=origin.revisions[0] if len(origin.revisions) == 1 else None,
        index_declares=len(declared) or None,
        shards_present=len(shards),
        total_bytes=sum(shard.size for shard in shards),
        incomplete_blobs=incomplete_downloads(folder),
        lfs_pointers=sum(shard.lfs_pointer for shard in shards),
        config_ok=_config_ok(folder, problems),
        missing=missing,
        problems=problems,
        shards=shards,
    )


def _declared_shards(folder: Path, names: set[str], problems: list[str]) -> list[str]:
    """The shards of the index; without one, the single file or whatever shards lie there."""
    if INDEX in names:
        return _indexed(folder / INDEX, problems)
    if SINGLE in names:
        return [SINGLE]
    found = sorted(name for name in names if name.endswith(".safetensors"))
    problems.append(f"it has no {INDEX}" if found else f"it has neither {INDEX} nor {SINGLE}")
    return found


def _indexed(index: Path, problems: list[str]) -> list[str]:
    try:
        shards = set(_json(index)["weight_map"].values())
        return sorted(name for name in shards if _is_name(name))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as failure:
        problems.append(f"{index.name} cannot be used: {_reason(failure)}")
        return []


def _shard(path: Path, problems: list[str]) -> Shard:
    shard, problem = read_shard(path)
    if problem:
        problems.append(problem)
    return shard


def _config_ok(folder: Path, problems: list[str]) -> bool:
    try:
        config = _json(folder / "config.json")
        if isinstance(config, dict) and config.keys() & {"model_type", "architectures"}:
            return True
        problems.append("config.json names no model")
    except (OSError, ValueError, RecursionError) as failure:
        problems.append(f"config.json cannot be used: {_reason(failure)}")
    return False


def _json(path: Path) -> Any:
    if not path.is_file():
        raise ValueError("there is no such file")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ValueError("it is too large")
    return json.loads(path.read_bytes())


def _is_pointer(path: Path) -> bool:
    try:
        return is_lfs_pointer(path)
    except MoetBootError:
        return False


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name) and "/" not in name and name not in {".", ".."}


def _reason(failure: Exception) -> str:
    if isinstance(failure, OSError):
        return failure.strerror or "it cannot be read"
    return str(failure) if type(failure) is ValueError else "it is not the JSON that it should be"
