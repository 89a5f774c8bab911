"""Packed nibbles to the 2-bit code plane at memory speed: the same bytes as `layout.pack_codes`.

A word of 64 bits holds 16 weights of one row. Quantizing, pairing the rows of both tiles and sorting the
bits are plain integer operations on whole arrays that stay in the cache; one copy reorders the lanes.
numpy releases the GIL in all of them, so threads scale.
"""

import numpy as np
import numpy.typing as npt

from moet_boot.errors import UsageError
from moet_boot.planes.quantize import Bytes

Words = npt.NDArray[np.uint64]

SCRATCH_WORDS = 1 << 16  # 512 KiB: three arrays of this size share a 2 MiB cache; measured best of 32 KiB..4 MiB
ROWS, COLUMNS = 16, 64


def _repeat(nibbles: str) -> np.uint64:
    return np.uint64(int(nibbles * (16 // len(nibbles)), 16))


_MAGNITUDE, _ROUND_UP, _SIGN, _HIGH_BITS = _repeat("7"), _repeat("3"), _repeat("8"), _repeat("A")
# (shift, mask): each exchanges neighbouring groups of 2, 4, 8 and 16 bits; together they sort (j, tile)
# pairs of 2-bit codes so that the tile becomes the slowest index
_UNSHUFFLE = (
    (np.uint64(2), _repeat("0C")),
    (np.uint64(4), _repeat("00F0")),
    (np.uint64(8), _repeat("0000FF00")),
    (np.uint64(16), _repeat("00000000FFFF0000")),
)


class CodePacker:
    """Packs matrices into code planes with scratch arrays that are reused; one per thread.

    `max_columns` is the widest matrix in weights.
    """

    def __init__(self, max_columns: int) -> None:
        words = max(SCRATCH_WORDS, max_columns)
        self._rows = np.empty(words, dtype="<u8")
        self._codes = np.empty(words, dtype="<u8")
        self._pairs = np.empty(words // 2, dtype="<u8")

    def pack(self, w_packed: Bytes, out: Bytes) -> None:
        """Write the code plane of packed nibbles u8 [N, K/2] (any alignment) to `out` u8 [N*K/4] (8-aligned)."""
        n, k = w_packed.shape[0], w_packed.shape[1] * 2
        if n % ROWS or k % COLUMNS or out.shape != (n * k // 4,) or k > len(self._rows):
            raise UsageError(f"cannot pack {n} x {k} weights into {len(out)} bytes")
        step = len(self._rows) // k * ROWS
        for row in range(0, n, step):
            some = w_packed[row : row + step]
            self._pack_rows(some, out[row * k // 4 :][: some.size // 2])

    def _pack_rows(self, w_packed: Bytes, out: Bytes) -> None:
        n, k = w_packed.shape[0], w_packed.shape[1] * 2
        blocks = n // ROWS
        rows = self._rows[: n * k // 16]
        rows.view(np.uint8).reshape(w_packed.shape)[:] = w_packed
        codes = _codes_without_high_bit(rows, self._codes[: len(rows)]).reshape(blocks, 2, 8 * k // 16)
        pairs = self._pairs[: len(rows) // 2].reshape(blocks, 8 * k // 16)
        np.right_shift(codes[:, 0], np.uint64(2), out=pairs)
        np.bitwise_or(pairs, codes[:, 1], out=pairs)
        lanes = pairs.view("<u2").reshape(blocks, 8, k // COLUMNS, 4, 4)
        out.view("<u2").reshape(blocks, k // COLUMNS, 8, 4, 4)[:] = lanes.transpose(0, 2, 1, 4, 3)
        plane = out.view("<u8")
        np.bitwise_xor(plane, _HIGH_BITS, out=plane)
        for shift, mask in _UNSHUFFLE:
            _exchange(plane, self._codes[: len(plane)], shift, mask)


def _codes_without_high_bit(rows: Words, codes: Words) -> Words:
    """Per nibble: bit 2 is the code's low bit (sign xor big), bit 3 the sign, which is the inverse of its high bit."""
    np.bitwise_and(rows, _MAGNITUDE, out=codes)
    np.add(codes, _ROUND_UP, out=codes)  # a magnitude of 5 or more carries into bit 3
    np.bitwise_xor(codes, rows, out=codes)
    np.bitwise_and(codes, _SIGN, out=codes)
    np.right_shift(codes, np.uint64(1), out=codes)
    np.bitwise_and(rows, _SIGN, out=rows)
    np.bitwise_or(codes, rows, out=codes)
    return codes


def _exchange(words: Words, scratch: Words, shift: np.uint64, mask: np.uint64) -> None:
    """Swap the bits under `mask` with those `shift` places above them."""
    np.right_shift(words, shift, out=scratch)
    np.bitwise_xor(scratch, words, out=scratch)
    np.bitwise_and(scratch, mask, out=scratch)
    np.bitwise_xor(words, scratch, out=words)
    np.left_shift(scratch, shift, out=scratch)
    np.bitwise_xor(words, scratch, out=words)
