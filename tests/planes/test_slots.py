import hashlib
from typing import Any

import numpy as np
import pytest

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.layout import pack_codes, pack_scales
from moet_boot.planes.quantize import codes_from_packed
from moet_boot.planes.slots import SLOT_BUILDERS, Expert
from testing.golden import BASE_SEED, golden_arrays, golden_json, make_expert

TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)
GOLDEN_KEY = {
    SlotKind.BASE: "slot",
    SlotKind.DELTA: "slot_delta",
    SlotKind.FP4: "slot_fp4",
    SlotKind.FP4Q: "slot_fp4q",
}
GOLDEN_SLOTS = golden_json("iv_expected.json")["slots"]


def sha256(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def golden_expert() -> Expert:
    arrays = golden_arrays("iii_expert_h256_i128.npz")
    return Expert(**{name: arrays[name] for name in ("w1", "w3", "w2", "w1_scale", "w3_scale", "w2_scale")})


def test_the_generator_of_these_tests_makes_the_golden_expert() -> None:
    made, stored = make_expert(BASE_SEED + 3, 256, 128), golden_expert()
    assert all(np.array_equal(getattr(made, name), getattr(stored, name)) for name in vars(stored))


@pytest.mark.parametrize("kind", SlotKind)
def test_slots_of_the_golden_expert(kind: SlotKind) -> None:
    slot = SLOT_BUILDERS[kind](golden_expert())
    expected = golden_json("iii_expected.json")[GOLDEN_KEY[kind]]
    assert len(slot) == expected["bytes"] == TINY.bytes_of(kind)
    assert sha256(slot) == expected["sha256"]


@pytest.mark.parametrize("kind", SlotKind)
def test_sections_of_the_golden_expert_lie_where_the_geometry_says(kind: SlotKind) -> None:
    slot = SLOT_BUILDERS[kind](golden_expert())
    for section in TINY.sections(kind):
        part = slot[section.offset : section.offset + section.size]
        assert sha256(part) == golden_json("iii_expected.json")[section.name]["sha256"]


@pytest.mark.parametrize("row", GOLDEN_SLOTS, ids=lambda row: f"layer{row['layer']}-expert{row['expert']}")
def test_slots_of_the_golden_checkpoint(row: dict[str, Any]) -> None:
    expert = make_expert(BASE_SEED + 1000 * (row["layer"] + 1) + row["expert"], 256, 128)
    for kind in SlotKind:
        key = "slot_sha256" if kind is SlotKind.BASE else f"{kind}_slot_sha256"
        assert sha256(SLOT_BUILDERS[kind](expert)) == row[key]


@pytest.mark.parametrize("rank", [0, 1])
def test_tensor_parallel_slices_equal_the_golden_ones(rank: int) -> None:
    geometry = TINY.with_tp(2)
    body = hashlib.sha256()
    for row in GOLDEN_SLOTS:
        expert = make_expert(BASE_SEED + 1000 * (row["layer"] + 1) + row["expert"], 256, 128)
        body.update(SLOT_BUILDERS[SlotKind.BASE](expert.for_rank(rank, geometry)).tobytes())
    assert body.hexdigest() == golden_json("iv_expected.json")["tp2"][rank]["concat_body_sha256"]


@pytest.mark.slow
def test_the_full_size_expert() -> None:
    golden = golden_json("v_full_expert.json")
    expert = make_expert(golden["seed"], 4096, 2048, odd_scales=False)
    for name, digest in golden["input_sha256"].items():
        assert sha256(np.ascontiguousarray(getattr(expert, name))) == digest
    for kind in SlotKind:
        slot = SLOT_BUILDERS[kind](expert)
        assert slot[:16].tolist() == golden["first16"][GOLDEN_KEY[kind]]
        assert sha256(slot) == golden["sections"][GOLDEN_KEY[kind]]["sha256"]


def test_a_slot_is_the_planes_of_the_fused_matrices() -> None:
    expert = make_expert(5, 64, 64)
    slot = SLOT_BUILDERS[SlotKind.BASE](expert)
    fused = np.concatenate((expert.w1, expert.w3))
    assert np.array_equal(slot[: 128 * 64 // 4], pack_codes(codes_from_packed(fused)))
    assert np.array_equal(slot[-64 * 2 :], pack_scales(expert.w2_scale))


def test_tensors_of_the_wrong_shape_are_refused() -> None:
    expert = make_expert(5, 64, 64)
    with pytest.raises(UsageError, match=r"w2_scale: uint8 \(64, 1\), expected uint8 \(64, 2\)"):
        Expert(**{**vars(expert), "w2_scale": expert.w2_scale[:, :1]})
