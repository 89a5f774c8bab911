"""Random plane files and checkpoints at full expert size, for bench_planes.py."""

import hashlib
import json
import os
from pathlib import Path

from moet_boot.planes.checkpoint import INDEX_NAME, tensor_names
from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.moet2pf_write import PlaneFileWriter
from moet_boot.units import MIB
from testing.page_cache import drop_from_cache

POOL_BYTES = 64 * MIB
REVISION = "0" * 40


def write_plane_file(path: Path, geometry: Geometry) -> None:
    """A whole plane file of random slots."""
    pool, buffer = os.urandom(POOL_BYTES), AlignedBuffer(geometry.slot_stride)
    with PlaneFileWriter(path, Header(geometry, "bench/random", REVISION), b"") as writer:
        for slot in range(geometry.n_slots):
            start = slot * 7919 * 64 % (POOL_BYTES - geometry.slot_stride)
            buffer.view[:] = pool[start : start + geometry.slot_stride]
            writer.write_slot(slot, buffer.view)
            writer.record(slot, hashlib.sha256(buffer.view).digest())
        writer.finish()


def write_checkpoint(folder: Path, geometry: Geometry) -> None:
    """A one-shard checkpoint of random experts, with the real names and types."""
    folder.mkdir()
    hidden, inter, pool = geometry.hidden, geometry.inter, os.urandom(POOL_BYTES)
    shapes = [[inter, hidden // 2], [inter, hidden // 2], [hidden, inter // 2]]
    shapes += [[inter, hidden // 32], [inter, hidden // 32], [hidden, inter // 32]]
    header, end = {}, 0
    for expert in range(geometry.n_experts):
        for name, shape in zip(tensor_names(0, expert), shapes, strict=True):
            start, end = end, end + shape[0] * shape[1]
            dtype = "I8" if name.endswith("weight") else "F8_E8M0"
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        while end:
            end -= file.write(pool[:end])
    drop_from_cache(folder / "model.safetensors")
    (folder / INDEX_NAME).write_text(json.dumps({"weight_map": dict.fromkeys(header, "model.safetensors")}))
    config = {"num_hidden_layers": 1, "n_routed_experts": geometry.n_experts}
    config |= {"hidden_size": hidden, "moe_intermediate_size": inter}
    (folder / "config.json").write_text(json.dumps({"expert_dtype": "fp4", **config}))
