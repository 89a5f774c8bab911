"""Small checkpoints for tests, and ways to damage them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moet_boot.planes.geometry import Geometry
from moet_boot.planes.slots import Expert
from testing.golden import GOLDEN, golden_json, make_expert

INDEX = "model.safetensors.index.json"
SHARD = "model-00001-of-00003.safetensors"
Tensors = dict[str, tuple[str, tuple[int, ...], bytes]]

_PARTS = {"w1.weight": "w1", "w3.weight": "w3", "w2.weight": "w2"}
_SCALES = {"w1.scale": "w1_scale", "w3.scale": "w3_scale", "w2.scale": "w2_scale"}


def copy_checkpoint(folder: Path) -> Path:
    """Copy the golden checkpoint to where it may be damaged."""
    target = folder / "checkpoint"
    shutil.copytree(GOLDEN / "iv_ckpt", target)
    return target


def write_checkpoint(folder: Path, geometry: Geometry, seed: int) -> list[Expert]:
    """Write a checkpoint of one shard a layer, tensors unaligned; return its experts in slot order."""
    folder.mkdir()
    names = ("num_hidden_layers", "n_routed_experts", "hidden_size", "moe_intermediate_size")
    sizes = (geometry.n_layers, geometry.n_experts, geometry.hidden, geometry.inter)
    config = {**golden_json("iv_ckpt/config.json"), **dict(zip(names, sizes, strict=True))}
    (folder / "config.json").write_text(json.dumps(config))
    experts: list[Expert] = []
    weight_map: dict[str, str] = {}
    for layer in range(geometry.n_layers):
        shard = f"layer-{layer}.safetensors"
        some = [
            make_expert(seed + 1000 * layer + expert, geometry.hidden, geometry.inter)
            for expert in range(geometry.n_experts)
        ]
        tensors: Tensors = {"odd": ("U8", (1,), b"!")}
        for index, expert in enumerate(some):
            tensors |= _tensors(f"layers.{layer}.ffn.experts.{index}", expert)
        _write_shard(folder / shard, tensors)
        weight_map |= dict.fromkeys(tensors, shard)
        experts += some
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return experts


def edit_json(path: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file in place."""
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def edit_shard(path: Path, change: Callable[[Any], object]) -> None:
    """Change the JSON header of a shard; the tensors' data stays as it is."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


def _tensors(prefix: str, expert: Expert) -> Tensors:
    found: Tensors = {}
    for dtype, names in (("I8", _PARTS), ("F8_E8M0", _SCALES)):
        for name, attribute in names.items():
            tensor = getattr(expert, attribute)
            found[f"{prefix}.{name}"] = (dtype, tensor.shape, tensor.tobytes())
    return found


def _write_shard(path: Path, tensors: Tensors) -> None:
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data for _, _, data in tensors.values()))
