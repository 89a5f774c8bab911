"""Byte layouts of the planes (planes.md section c): plain index arithmetic, each direction with its inverse.

Every matrix is N x K weights. One block is 16 rows x 64 columns; in it a lane (4 * g + t) owns 32 weights:
n = 16 nb + 8 tile + g and k = 64 kb + 32 k32 + 16 half + 4 t + j.
"""

import numpy as np

from moet_boot.errors import UsageError
from moet_boot.planes.quantize import CODE_OF_NIBBLE, DIGIT_OF_NIBBLE, FIRST_BIG, Bytes

# axes of a row-major matrix:  nb tile g | kb k32 half t   ->  axes of a plane: nb kb g t | tile k32 half
_TO_PLANE = (0, 3, 2, 6, 1, 4, 5)
_TO_ROWS = (0, 4, 2, 1, 5, 6, 3)
_WORDS_PER_LANE = 8
_DIGIT_WEIGHTS = np.array([1, 5, 25, 125], dtype=np.uint16)


def pack_codes(codes: Bytes) -> Bytes:
    """2-bit code plane of codes u8 [N, K]: u8 [N*K/4] (c.3)."""
    n, k = _shape(codes, per_byte=1)
    return _bytes_of(_to_plane(codes.reshape(n, k // 4, 4), n, k), bits=2)


def unpack_codes(plane: Bytes, n: int, k: int) -> Bytes:
    """Inverse of `pack_codes`: u8 [N*K/4] -> u8 [N, K]."""
    _require_plane(plane, n, k, n * k // 4)
    return _to_rows(_fields_of(plane, bits=2), n, k).reshape(n, k)


def pack_scales(scales: Bytes) -> Bytes:
    """Scale plane of scale bytes u8 [N, K/32]: u8 [N*K/32] (c.4)."""
    n, k = _shape(scales, per_byte=32)
    return np.ascontiguousarray(scales.reshape(n // 16, 16, k // 32).transpose(0, 2, 1)).reshape(-1)


def unpack_scales(plane: Bytes, n: int, k: int) -> Bytes:
    """Inverse of `pack_scales`: u8 [N*K/32] -> u8 [N, K/32]."""
    _require_plane(plane, n, k, n * k // 32)
    return np.ascontiguousarray(plane.reshape(n // 16, k // 32, 16).transpose(0, 2, 1)).reshape(n, k // 32)


def pack_fp4(w_packed: Bytes) -> Bytes:
    """FP4 plane of packed nibbles u8 [N, K/2]: u8 [N*K/2], all 16 values kept (c.5)."""
    n, k = _shape(w_packed, per_byte=2)
    return _to_plane(w_packed.reshape(n, k // 4, 2), n, k).reshape(-1)


def unpack_fp4(plane: Bytes, n: int, k: int) -> Bytes:
    """Inverse of `pack_fp4`: u8 [N*K/2] -> packed nibbles u8 [N, K/2]."""
    _require_plane(plane, n, k, n * k // 2)
    return _to_rows(plane.reshape(-1, 2), n, k).reshape(n, k // 2)


def pack_quintal(w_packed: Bytes) -> Bytes:
    """Quintal plane of packed nibbles u8 [N, K/2]: u8 [N*K*5/16] (c.6).

    A lane's eight 10-bit words make a record of 80 bits; a block stores the first 64 bits of its 32
    lanes, then the last 16 bits of them.
    """
    fp4 = pack_fp4(w_packed)
    nibbles = _fields_of(fp4, bits=4).reshape(-1, 4)
    words = (DIGIT_OF_NIBBLE[nibbles] * _DIGIT_WEIGHTS).sum(axis=1, dtype=np.uint16)
    lanes = words.reshape(-1, _WORDS_PER_LANE).astype(np.uint64)
    low = np.zeros(len(lanes), dtype="<u8")
    for word in range(7):
        low |= lanes[:, word] << np.uint64(10 * word)  # word 6 overflows by the 6 bits that `high` takes
    high = (lanes[:, 6] >> np.uint64(4) | lanes[:, 7] << np.uint64(6)).astype("<u2")
    blocks = (low.view(np.uint8).reshape(-1, 256), high.view(np.uint8).reshape(-1, 64))
    return np.concatenate(blocks, axis=1).reshape(-1)


def unpack_quintal(plane: Bytes, codes: Bytes) -> Bytes:
    """Packed nibbles u8 [N, K/2] from a quintal plane and the codes u8 [N, K] of the same weights."""
    n, k = _shape(codes, per_byte=1)
    _require_plane(plane, n, k, n * k * 5 // 16)
    blocks = plane.reshape(-1, 320)
    low = np.ascontiguousarray(blocks[:, :256]).view("<u8").reshape(-1)
    high = np.ascontiguousarray(blocks[:, 256:]).view("<u2").reshape(-1).astype(np.uint64)
    words = np.empty((len(low), _WORDS_PER_LANE), dtype=np.uint16)
    for word in range(6):
        words[:, word] = low >> np.uint64(10 * word) & np.uint64(0x3FF)
    words[:, 6] = low >> np.uint64(60) | (high & np.uint64(0x3F)) << np.uint64(4)
    words[:, 7] = high >> np.uint64(6)
    digits = (words.reshape(-1, 1) // _DIGIT_WEIGHTS % 5).astype(np.uint8)
    return _nibbles_of(_to_rows(digits, n, k).reshape(n, k), codes)


def codes_of_fp4(plane: Bytes) -> Bytes:
    """Turn an FP4 plane into the 2-bit code plane: both share the lane order."""
    return _bytes_of(CODE_OF_NIBBLE[_fields_of(plane, bits=4)].reshape(-1, 4), bits=2)


def _nibbles_of(digits: Bytes, codes: Bytes) -> Bytes:
    magnitudes = digits + np.array([FIRST_BIG, 0, 0, FIRST_BIG], dtype=np.uint8)[codes]
    nibbles = magnitudes | np.array([8, 8, 0, 0], dtype=np.uint8)[codes]
    return _bytes_of(nibbles.reshape(-1, 2), bits=4).reshape(len(codes), -1)


def _bytes_of(fields: Bytes, *, bits: int) -> Bytes:
    """u8 [M, 8/bits] -> u8 [M], the first field in the lowest bits."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    merged: Bytes = np.bitwise_or.reduce(np.left_shift(fields, shifts, dtype=np.uint8), axis=1)
    return merged


def _fields_of(data: Bytes, *, bits: int) -> Bytes:
    """u8 [M] -> u8 [M, 8/bits], the inverse of `_bytes_of`."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields: Bytes = np.bitwise_and(data[:, None] >> shifts, (1 << bits) - 1, dtype=np.uint8)
    return fields


def _to_plane(rows: Bytes, n: int, k: int) -> Bytes:
    """[N, K/4, b] -> [N*K/4, b] in plane order; b bytes stand for the four weights j = 0..3."""
    width = rows.shape[-1]
    axes = rows.reshape(n // 16, 2, 8, k // 64, 2, 2, 4, width)
    return np.ascontiguousarray(axes.transpose(*_TO_PLANE, 7)).reshape(-1, width)


def _to_rows(plane: Bytes, n: int, k: int) -> Bytes:
    width = plane.shape[-1]
    axes = plane.reshape(n // 16, k // 64, 8, 4, 2, 2, 2, width)
    return np.ascontiguousarray(axes.transpose(*_TO_ROWS, 7)).reshape(n, k // 4, width)


def _shape(matrix: Bytes, *, per_byte: int) -> tuple[int, int]:
    if matrix.ndim != 2 or matrix.dtype != np.uint8:  # noqa: PLR2004
        raise UsageError(f"expected a matrix of bytes, got {matrix.dtype} with shape {matrix.shape}")
    n, k = matrix.shape[0], matrix.shape[1] * per_byte
    _require_legal(n, k)
    return n, k


def _require_plane(plane: Bytes, n: int, k: int, size: int) -> None:
    _require_legal(n, k)
    if plane.shape != (size,) or plane.dtype != np.uint8:
        raise UsageError(f"a plane of {n} x {k} weights has {size} bytes, got {plane.dtype} {plane.shape}")


def _require_legal(n: int, k: int) -> None:
    if n < 16 or k < 64 or n % 16 or k % 64:  # noqa: PLR2004
        raise UsageError(f"no plane layout for {n} x {k} weights: rows must divide by 16, columns by 64")
