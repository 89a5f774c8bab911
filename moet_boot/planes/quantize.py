"""From MXFP4 nibbles to 2-bit codes: a table, so every machine gets the same bytes (planes.md b.1)."""

import numpy as np
import numpy.typing as npt

from moet_boot.errors import UsageError

Bytes = npt.NDArray[np.uint8]

LEVELS = (-4, -1, 1, 4)
NIBBLE_OF_LEVEL = (0xE, 0xA, 0x2, 0x6)
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
FIRST_BIG = 5  # magnitudes 0..4 become +-1, 5..7 become +-4


def _code(nibble: int) -> int:
    negative, big = nibble >> 3, (nibble & 7) >= FIRST_BIG
    if negative:
        return 0 if big else 1
    return 3 if big else 2


CODE_OF_NIBBLE = np.array([_code(nibble) for nibble in range(16)], dtype=np.uint8)
DIGIT_OF_NIBBLE = np.array([(nibble & 7) % FIRST_BIG for nibble in range(16)], dtype=np.uint8)


def nibbles_from_packed(w_packed: Bytes) -> Bytes:
    """u8 [N, K/2] as stored in the checkpoint -> u8 [N, K] nibbles; the low nibble is the even weight."""
    _require_matrix(w_packed)
    rows, half = w_packed.shape
    nibbles = np.empty((rows, half, 2), dtype=np.uint8)
    np.bitwise_and(w_packed, 0xF, out=nibbles[..., 0])
    np.right_shift(w_packed, 4, out=nibbles[..., 1])
    return nibbles.reshape(rows, 2 * half)


def packed_from_nibbles(nibbles: Bytes) -> Bytes:
    """Undo `nibbles_from_packed`: u8 [N, K] -> u8 [N, K/2]."""
    _require_matrix(nibbles)
    return nibbles[:, 0::2] | np.left_shift(nibbles[:, 1::2], 4, dtype=np.uint8)


def codes_from_packed(w_packed: Bytes) -> Bytes:
    """u8 [N, K/2] packed nibbles -> u8 [N, K] codes 0..3."""
    return CODE_OF_NIBBLE[nibbles_from_packed(w_packed)]


def packed_from_codes(codes: Bytes) -> Bytes:
    """Write the level of each 2-bit code as an e2m1 nibble: u8 [N, K] -> u8 [N, K/2]."""
    return packed_from_nibbles(np.array(NIBBLE_OF_LEVEL, dtype=np.uint8)[codes])


def dequantize(codes: Bytes, scales: Bytes) -> npt.NDArray[np.float64]:
    """Weights of codes u8 [N, K] under scale bytes u8 [N, K/32]: level * 2 ** (scale - 127)."""
    levels = np.array(LEVELS, dtype=np.float64)[codes]
    exponents = np.repeat(scales.astype(np.int32) - 127, codes.shape[1] // scales.shape[1], axis=1)
    return np.ldexp(levels, exponents)


def _require_matrix(matrix: Bytes) -> None:
    if matrix.ndim != 2 or matrix.dtype != np.uint8:  # noqa: PLR2004
        raise UsageError(f"expected a matrix of bytes, got {matrix.dtype} with shape {matrix.shape}")
