import hashlib
from pathlib import Path

import pytest

from moet_boot.planes import slot_hash
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.slot_hash import hash_slot, hash_slots, zero_digest
from testing.golden import golden_json
from testing.plane_file import OWN, TINY, copy_of, flip
from testing.verification import BODY, STRIDE, failing_reads

GOLDEN_DIGESTS = [slot["slot_sha256"] for slot in golden_json("iv_expected.json")["slots"]]


def offset(slot: int) -> int:
    return BODY + slot * STRIDE


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk", [4096, 8192, 1 << 20], ids=str)
def test_digests_are_the_golden_ones_whatever_the_pieces(
    threads: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_hash, "CHUNK_BYTES", chunk)
    with DirectReader(OWN) as reader:
        found = sorted(hash_slots(reader, range(8), TINY, offset, threads), key=lambda result: result.slot)
    assert [result.digest.hex() for result in found if result.digest] == GOLDEN_DIGESTS
    assert all(result.padding_clean for result in found)


@pytest.mark.parametrize(
    ("place", "same", "clean"),
    [(0, False, True), (TINY.slot_bytes - 1, False, True), (TINY.slot_bytes, True, False), (STRIDE - 1, True, False)],
    ids=["first byte", "last byte", "first of the padding", "last of the padding"],
)
def test_the_padding_is_looked_at_and_not_hashed(place: int, same: bool, clean: bool, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, offset(5) + place)
    with DirectReader(path) as reader:
        found = hash_slot(reader, AlignedBuffer(4096), 5, TINY, offset(5))
    assert found.digest is not None
    assert (found.digest.hex() == GOLDEN_DIGESTS[5]) is same
    assert found.padding_clean is clean


def test_a_slot_that_cannot_be_read_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_reads(monkeypatch, offset(2) + 5000, offset(2) + 5001)
    with DirectReader(OWN) as reader:
        found = {result.slot: result for result in hash_slots(reader, [1, 2, 3], TINY, offset, threads=2)}
    assert (found[2].digest, found[2].error) == (None, "Input/output error")
    assert found[1].digest is not None
    assert found[3].digest is not None


def test_a_slot_beyond_the_end_is_a_result() -> None:
    with DirectReader(OWN) as reader:
        found = hash_slot(reader, AlignedBuffer(4096), 8, TINY, offset(8))
    assert (found.digest, found.error) == (None, "the file ends at 237568")


@pytest.mark.parametrize("size", [1, 4096, (2 << 20) - 1, 2 << 20, (4 << 20) + 7], ids=str)
def test_the_digest_of_nothing_written(size: int) -> None:
    assert zero_digest(size) == hashlib.sha256(bytes(size)).digest()
