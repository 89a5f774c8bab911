from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from moet_boot.errors import UsageError
from moet_boot.planes.quantize import (
    CODE_OF_NIBBLE,
    DIGIT_OF_NIBBLE,
    LEVELS,
    NIBBLE_OF_LEVEL,
    Bytes,
    codes_from_packed,
    dequantize,
    nibbles_from_packed,
    packed_from_codes,
    packed_from_nibbles,
)
from testing.golden import golden_arrays, golden_json

LUT = golden_json("i_nibble_lut.json")


@pytest.mark.parametrize("row", LUT["nibble"], ids=lambda row: f"nibble{row['nibble']:x}")
def test_each_nibble_has_its_golden_code_level_and_digit(row: dict[str, Any]) -> None:
    nibble = row["nibble"]
    assert CODE_OF_NIBBLE[nibble] == row["code"]
    assert LEVELS[row["code"]] == row["level"]
    assert DIGIT_OF_NIBBLE[nibble] == row["quintal_digit"]


def test_levels_and_their_nibbles_are_the_golden_ones() -> None:
    assert list(LEVELS) == LUT["code_to_level"]
    assert list(NIBBLE_OF_LEVEL) == LUT["code_to_e2m1_nibble"]


def test_all_256_bytes_give_the_golden_codes() -> None:
    codes = codes_from_packed(np.arange(256, dtype=np.uint8)[None])
    assert codes.reshape(-1, 2).tolist() == LUT["byte_to_codes_even_odd"]


@pytest.mark.parametrize("name", ["ii_pack_32x128.npz", "ii_pack_64x256.npz"])
def test_codes_and_weights_of_a_matrix_equal_the_golden_ones(name: str) -> None:
    golden = golden_arrays(name)
    codes = codes_from_packed(golden["w_packed"])
    assert np.array_equal(codes, golden["codes"])
    weights = dequantize(codes, np.clip(golden["scales"], 1, 254))
    with np.errstate(over="ignore"):  # 4 * 2**127 is infinite in the reference's f32
        assert np.array_equal(weights.astype(np.float32), golden["dequant"])


@given(arrays(np.uint8, (3, 8)))
def test_nibbles_round_trip(packed: Bytes) -> None:
    assert np.array_equal(packed_from_nibbles(nibbles_from_packed(packed)), packed)


@given(arrays(np.uint8, (2, 8), elements=st.integers(0, 3)))
def test_the_nibble_of_a_level_has_the_code_of_that_level(codes: Bytes) -> None:
    assert np.array_equal(codes_from_packed(packed_from_codes(codes)), codes)


@pytest.mark.parametrize("bad", [np.zeros(4, dtype=np.uint8), np.zeros((2, 2), dtype=np.int8)], ids=["flat", "signed"])
def test_anything_but_a_matrix_of_bytes_is_refused(bad: Any) -> None:
    with pytest.raises(UsageError, match="matrix of bytes"):
        codes_from_packed(bad)
