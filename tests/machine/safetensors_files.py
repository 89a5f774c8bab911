"""Small checkpoints on the disk, whole or damaged."""

import json
from pathlib import Path

REVISION = "60d8d70770c6776ff598c94bb586a859a38244f1"
LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 3476000000\n"


def shard_bytes(tensors: int = 2, each: int = 64) -> bytes:
    """A safetensors file with tensors of `each` bytes."""
    header = {
        f"t{n}": {"dtype": "U8", "shape": [each], "data_offsets": [n * each, (n + 1) * each]} for n in range(tensors)
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + b"\7" * (tensors * each)


def write_checkpoint(folder: Path, shards: int = 3) -> Path:
    """A checkpoint with an index, a config and `shards` shards."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"model-{n:05d}-of-{shards:05d}.safetensors" for n in range(1, shards + 1)]
    weight_map = {f"layer.{n}.weight": name for n, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"model_type": "deepseek_v4"}))
    for name in names:
        (folder / name).write_bytes(shard_bytes())
    return folder
