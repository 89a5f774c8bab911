"""Golden data of the reference code (tests/data/golden/), and the generator of its experts."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from moet_boot.planes.quantize import Bytes
from moet_boot.planes.slots import Expert, expert_shapes

GOLDEN = Path(__file__).parent.parent / "tests" / "data" / "golden"
BASE_SEED = 424200


@cache
def golden_json(name: str) -> Any:
    """Read a golden JSON file; the caller must not change it."""
    return json.loads((GOLDEN / name).read_text())


@cache
def golden_arrays(name: str) -> dict[str, Any]:
    """Read all arrays of a golden npz file."""
    with np.load(GOLDEN / name) as file:
        return {key: file[key] for key in file}


def raw(seed: int, size: int) -> Bytes:
    """Return the first bytes of the golden random stream of this seed."""
    words = np.random.PCG64(seed).random_raw(-(-size // 8))
    return np.asarray(words).astype("<u8").view(np.uint8)[:size]


def make_expert(seed: int, hidden: int, inter: int, *, odd_scales: bool = True) -> Expert:
    """Cut an expert from one random stream; three odd scale bytes lead each scale tensor."""
    stream = raw(seed, 3 * inter * hidden // 2 + 3 * inter * hidden // 32)
    tensors = {}
    for name in ("w1", "w3", "w2", "w1_scale", "w3_scale", "w2_scale"):
        shape = expert_shapes(hidden, inter)[name]
        part, stream = stream[: shape[0] * shape[1]].copy(), stream[shape[0] * shape[1] :]
        if name.endswith("scale"):
            part = (part & np.uint8(0x1F)) + np.uint8(0x60)
            if odd_scales:
                part[:3] = (0x00, 0xFE, 0xFF)
        tensors[name] = part.reshape(shape)
    return Expert(**tensors)
