import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes import code_packer
from moet_boot.planes.code_packer import CodePacker
from moet_boot.planes.layout import pack_codes
from moet_boot.planes.quantize import Bytes, codes_from_packed


def packed(n: int, k: int, seed: int, *, misalign: int = 0) -> Bytes:
    raw = np.random.default_rng(seed).integers(0, 256, n * k // 2 + misalign, dtype=np.uint8)
    return raw[misalign:].reshape(n, k // 2)


def pack(w_packed: Bytes) -> Bytes:
    out = np.full(w_packed.size // 2, 0xEE, dtype=np.uint8)
    CodePacker(w_packed.shape[1] * 2).pack(w_packed, out)
    return out


@given(
    st.integers(1, 9).map(lambda x: 16 * x),
    st.integers(1, 6).map(lambda x: 64 * x),
    st.integers(0, 7),
    st.integers(0, 2**32 - 1),
)
def test_it_gives_the_bytes_of_the_plain_layout(n: int, k: int, misalign: int, seed: int) -> None:
    weights = packed(n, k, seed, misalign=misalign)
    assert np.array_equal(pack(weights), pack_codes(codes_from_packed(weights)))


def test_all_pairs_of_nibbles_in_all_places() -> None:
    weights = np.tile(np.arange(256, dtype=np.uint8), 64).reshape(64, 256)
    assert np.array_equal(pack(weights), pack_codes(codes_from_packed(weights)))


@pytest.mark.parametrize("words", [64, 256, 640], ids=str)
def test_matrices_larger_than_the_scratch_are_packed_in_parts(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_packer, "SCRATCH_WORDS", words)
    weights = packed(7 * 16, 128, seed=1)
    assert np.array_equal(pack(weights), pack_codes(codes_from_packed(weights)))


def test_a_packer_is_used_again_for_another_shape() -> None:
    packer = CodePacker(256)
    for n, k in ((64, 256), (16, 64), (256, 128)):
        weights, out = packed(n, k, seed=n), np.empty(n * k // 4, dtype=np.uint8)
        packer.pack(weights, out)
        assert np.array_equal(out, pack_codes(codes_from_packed(weights)))


def test_the_input_is_left_as_it_is() -> None:
    weights = packed(32, 128, seed=3)
    before = weights.copy()
    pack(weights)
    assert np.array_equal(weights, before)


@pytest.mark.parametrize(
    ("n", "k", "out_bytes"),
    [(8, 64, 128), (16, 32, 128), (16, 64, 255), (16, 128, 512)],
    ids=["rows", "columns", "output", "wider than promised"],
)
def test_what_it_cannot_pack_is_refused(n: int, k: int, out_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_packer, "SCRATCH_WORDS", 64)
    small = CodePacker(64)
    with pytest.raises(UsageError, match="cannot pack"):
        small.pack(np.zeros((n, k // 2), dtype=np.uint8), np.zeros(out_bytes, dtype=np.uint8))
