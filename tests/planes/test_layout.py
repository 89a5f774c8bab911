import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.layout import (
    codes_of_fp4,
    pack_codes,
    pack_fp4,
    pack_quintal,
    pack_scales,
    unpack_codes,
    unpack_fp4,
    unpack_quintal,
    unpack_scales,
)
from moet_boot.planes.quantize import Bytes, codes_from_packed, packed_from_nibbles
from testing.golden import golden_arrays

SHAPES = st.tuples(st.integers(1, 4).map(lambda x: 16 * x), st.integers(1, 4).map(lambda x: 64 * x))


def sha256(plane: Bytes) -> str:
    return hashlib.sha256(plane.tobytes()).hexdigest()


def ramp() -> Bytes:
    """The worked example of c.7: nibble (n + k) mod 16 over 16 x 64 weights."""
    n, k = np.mgrid[0:16, 0:64]
    return packed_from_nibbles(((n + k) % 16).astype(np.uint8))


@pytest.mark.parametrize("name", ["ii_pack_32x128.npz", "ii_pack_64x256.npz"])
def test_planes_of_a_matrix_equal_the_golden_ones(name: str) -> None:
    golden = golden_arrays(name)
    assert np.array_equal(pack_codes(golden["codes"]), golden["code_plane"])
    assert np.array_equal(pack_scales(golden["scales"]), golden["scale_plane"])
    assert np.array_equal(pack_fp4(golden["w_packed"]), golden["fp4_plane"])
    assert np.array_equal(pack_quintal(golden["w_packed"]), golden["quintal_plane"])


@pytest.mark.parametrize("name", ["ii_pack_32x128.npz", "ii_pack_64x256.npz"])
def test_golden_planes_give_back_the_matrix(name: str) -> None:
    golden = golden_arrays(name)
    n, k = golden["codes"].shape
    assert np.array_equal(unpack_codes(golden["code_plane"], n, k), golden["codes"])
    assert np.array_equal(unpack_scales(golden["scale_plane"], n, k), golden["scales"])
    assert np.array_equal(unpack_fp4(golden["fp4_plane"], n, k), golden["w_packed"])
    assert np.array_equal(unpack_quintal(golden["quintal_plane"], golden["codes"]), golden["w_packed"])
    assert np.array_equal(codes_of_fp4(golden["fp4_plane"]), golden["code_plane"])


def test_worked_example_code_plane() -> None:
    plane = pack_codes(codes_from_packed(ramp()))
    assert plane[:32].tobytes().hex() == "aaaaaaaa55555555fefefefe0101010155555555aaaaaaaa01010101fefefefe"
    assert sha256(plane) == "850520f9e27464d9da2c5e86b5488ef6ab85d153bf9459322c266f6b3f1ebe20"
    assert plane[174] == 0xAA


def test_worked_example_scale_plane() -> None:
    n, ks = np.mgrid[0:16, 0:2]
    plane = pack_scales((100 + 2 * n + ks).astype(np.uint8))
    assert plane.tolist() == list(range(100, 131, 2)) + list(range(101, 132, 2))


def test_worked_example_fp4_plane() -> None:
    plane = pack_fp4(ramp())
    assert plane[:16].tobytes().hex() == "103210321032103298ba98ba98ba98ba"
    assert sha256(plane) == "80d84517230d4395c4e7bba93c939b76dd2ba68e92517fe995a623ac370a9fce"


def test_worked_example_quintal_plane() -> None:
    plane = pack_quintal(ramp())
    assert plane[:8].tobytes().hex() == "aeb9e69a6baeb9e6"
    assert plane[256:258].tobytes().hex() == "9a6b"
    assert sha256(plane) == "e26c4c61f1de5f966dbb4c5c18ea68023178aafb649310c6bbe618b49191215b"


def test_the_formula_of_one_weight_and_its_scale() -> None:
    """c.7: in a [32, 128] matrix weight (21, 100) is in byte 938 of the plane, its scale is byte 117."""
    codes = np.zeros((32, 128), dtype=np.uint8)
    codes[21, 100] = 3
    assert np.flatnonzero(pack_codes(codes)).tolist() == [938]
    scales = np.zeros((32, 4), dtype=np.uint8)
    scales[21, 3] = 9
    assert np.flatnonzero(pack_scales(scales)).tolist() == [117]


@given(SHAPES, st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_every_plane_round_trips(shape: tuple[int, int], seed: int) -> None:
    n, k = shape
    random = np.random.default_rng(seed)
    packed = random.integers(0, 256, (n, k // 2), dtype=np.uint8)
    scales = random.integers(0, 256, (n, k // 32), dtype=np.uint8)
    codes = codes_from_packed(packed)
    assert np.array_equal(unpack_codes(pack_codes(codes), n, k), codes)
    assert np.array_equal(unpack_scales(pack_scales(scales), n, k), scales)
    assert np.array_equal(unpack_fp4(pack_fp4(packed), n, k), packed)
    assert np.array_equal(unpack_quintal(pack_quintal(packed), codes), packed)
    assert np.array_equal(codes_of_fp4(pack_fp4(packed)), pack_codes(codes))


@pytest.mark.parametrize("shape", [(8, 64), (16, 32), (24, 64), (16, 96), (0, 64)], ids=str)
def test_shapes_that_the_kernels_cannot_read_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="no plane layout"):
        pack_codes(np.zeros(shape, dtype=np.uint8))


@pytest.mark.parametrize("unpack", [unpack_codes, unpack_scales, unpack_fp4])
def test_a_plane_of_the_wrong_size_is_refused(unpack: Any) -> None:
    with pytest.raises(UsageError, match="16 x 64 weights has"):
        unpack(np.zeros(7, dtype=np.uint8), 16, 64)


def test_a_matrix_of_the_wrong_type_is_refused() -> None:
    wrong: Any = np.zeros((16, 64), dtype=np.int8)
    with pytest.raises(UsageError, match="matrix of bytes"):
        pack_codes(wrong)
