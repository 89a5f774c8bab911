"""Packed nibbles to the 2-bit code plane at memory speed: the same bytes as `layout.pack_codes`.

A word of 64 bits holds 16 weights of one row. Quantizing, pairing neighbouring words and sorting the bits
are plain integer operations on whole arrays that stay in the cache; one copy reorders the bytes.
numpy releases the GIL in all of them, so threads scale.
"""

from itertools import product

import numpy as np
import numpy.typing as npt

from moet_boot.errors import UsageError
from moet_boot.planes.quantize import Bytes

Words = npt.NDArray[np.uint64]

SCRATCH_WORDS = 1 << 16  # 512 KiB: three arrays of about this size stay in a 2 MiB cache; more gains little
ROWS, COLUMNS = 16, 64


def _repeat(nibbles: str) -> np.uint64:
    return np.uint64(int(nibbles * (16 // len(nibbles)), 16))


_MAGNITUDE, _ROUND_UP, _SIGN = _repeat("7"), _repeat("5"), _repeat("8")
# (shift, mask): each exchanges neighbouring groups, first of 2 bits, then of 4; together they turn a
# quarter word of four (half 0, half 1) pairs of codes into a byte of half 0 and a byte of half 1
_UNSHUFFLE = ((np.uint64(2), _repeat("0C")), (np.uint64(4), _repeat("00F0")))


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
        """Write the code plane of packed nibbles u8 [N, K/2] (any alignment) to `out` u8 [N*K/4]."""
        n, k = w_packed.shape[0], w_packed.shape[1] * 2
        if n % ROWS or k % COLUMNS or out.shape != (n * k // 4,) or k > len(self._rows):
            raise UsageError(f"cannot pack {n} x {k} weights into {len(out)} bytes")
        step = len(self._rows) // k * ROWS
        for row in range(0, n, step):
            some = w_packed[row : row + step]
            self._pack_rows(some, out[row * k // 4 :][: some.size // 2])

    def _pack_rows(self, w_packed: Bytes, out: Bytes) -> None:
        n, k = w_packed.shape[0], w_packed.shape[1] * 2
        rows = self._rows[: n * k // 16]
        np.invert(w_packed, out=rows.view(np.uint8).reshape(w_packed.shape))
        halves = _codes_of_inverted(rows, self._codes[: len(rows)]).reshape(-1, 2)
        pairs = self._pairs[: len(halves)]
        np.right_shift(halves[:, 0], np.uint64(2), out=pairs)
        np.bitwise_or(pairs, halves[:, 1], out=pairs)
        for shift, mask in _UNSHUFFLE:
            _exchange(pairs, rows[: len(pairs)], shift, mask)
        lanes = pairs.view("<u2").reshape(n // ROWS, 2, 8, k // COLUMNS, 2, 4)
        plane = out.view("<u2").reshape(n // ROWS, k // COLUMNS, 8, 4, 2, 2)
        # one pass for each lane and word of it: numpy's inner loops are then long (twice as fast as one copy)
        for tile, k32, t in product(range(2), range(2), range(4)):
            plane[:, :, :, t, tile, k32] = lanes[:, tile, :, :, k32, t].transpose(0, 2, 1)


def _codes_of_inverted(rows: Words, codes: Words) -> Words:
    """The code of each inverted nibble in its upper two bits; `rows` is used up.

    Inverting makes the sign the code's high bit. Its low bit is sign xor big: an inverted magnitude of
    3 or more is a small one, and adding 5 carries it into the sign's place.
    """
    np.bitwise_and(rows, _MAGNITUDE, out=codes)
    np.add(codes, _ROUND_UP, out=codes)
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
