import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.discovery import Discovery, TableMode, anchor_slots, discover, place_permuted
from testing.golden import golden_json
from testing.plane_file import FOREIGN, OWN, TINY

BODY = 8192
FILES: dict[str, Path] = {"own": OWN, **{f"foreign_{letter}": path for letter, path in FOREIGN.items()}}
FLIPS = {
    "discovery": None,
    "discovery_after_flip_slot0": (BODY, 1 << 0),
    "discovery_after_flip_slot3": (BODY + 3 * TINY.slot_stride + 9, 1 << 7),
}


def slot_digests(data: bytes) -> dict[int, bytes]:
    starts = {slot: BODY + slot * TINY.slot_stride for slot in range(TINY.n_slots)}
    return {slot: hashlib.sha256(data[start : start + TINY.slot_bytes]).digest() for slot, start in starts.items()}


def found_in(data: bytes) -> tuple[Discovery, list[int]]:
    """The discovery and the bad slots, as a full verification takes them."""
    region, digests = data[:BODY], slot_digests(data)
    discovery = discover(region, {slot: digests[slot] for slot in anchor_slots(8)}, 8)
    if discovery.mode is TableMode.NONE:
        return discovery, []
    bad = [slot for slot, digest in digests.items() if not discovery.holds(region, slot, digest)]
    return place_permuted(discovery, region, digests, layers=2, experts=4), bad


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("flip", FLIPS)
def test_golden_files_give_their_golden_discovery(name: str, flip: str) -> None:
    expected: dict[str, Any] = golden_json("vii_moet2pf/expected.json")[name][flip]
    data = bytearray(FILES[name].read_bytes())
    if place := FLIPS[flip]:
        data[place[0]] ^= place[1]
    discovery, bad = found_in(bytes(data))
    assert discovery.mode == expected["mode"]
    if discovery.mode is TableMode.NONE:
        assert (discovery.anchors, discovery.anchors_found) == (expected["anchors"], expected["anchors_found"])
    else:
        assert (discovery.table_offset, discovery.entry_stride) == (
            expected["table_offset"],
            expected["entry_stride"],
        )
        assert bad == expected["bad"]
        assert 8 - len(bad) == expected["verified"]


def test_the_order_of_the_permuted_golden_file_is_recognised() -> None:
    assert found_in(FOREIGN["b"].read_bytes())[0].order == "expert-major"


@pytest.mark.parametrize(
    ("n_slots", "anchors"),
    [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (8, list(range(8)))],
    ids=str,
)
def test_anchors_of_small_files(n_slots: int, anchors: list[int]) -> None:
    assert anchor_slots(n_slots) == anchors


def test_anchors_of_the_published_file() -> None:
    anchors = anchor_slots(11_008)
    assert len(anchors) == 17
    assert anchors[:3] == [0, 1, 733]
    assert anchors[-1] == 11_007


def region_of(digests: list[bytes], start: int, stride: int, *, text: bool = False) -> bytes:
    region = bytearray(random.Random(1).randbytes(start + stride * len(digests) + 500))
    for index, digest in enumerate(digests):
        stored = digest.hex().encode() if text else digest
        region[start + index * stride : start + index * stride + len(stored)] = stored
    return bytes(region)


@given(
    n_slots=st.integers(3, 60),
    start=st.integers(0, 500),
    gap=st.integers(0, 40),
    text=st.booleans(),
    broken=st.sets(st.integers(0, 59), max_size=3),
)
def test_any_linear_table_is_found_whatever_few_slots_are_damaged(
    n_slots: int, start: int, gap: int, text: bool, broken: set[int]
) -> None:
    digests = [hashlib.sha256(bytes([slot])).digest() for slot in range(n_slots)]
    stride = (64 if text else 32) + gap
    region = region_of(digests, start, stride, text=text)
    seen = {slot: bytes(32) if slot in broken else digests[slot] for slot in range(n_slots)}
    anchors: dict[int, bytes | None] = {slot: seen[slot] for slot in anchor_slots(n_slots)}
    intact = sum(slot not in broken for slot in anchors)
    discovery = discover(region, anchors, n_slots)
    if intact < 2:
        assert discovery.mode is TableMode.NONE
        return
    assert discovery == Discovery(TableMode.LINEAR, len(anchors), intact, start, stride, text=text)
    good = {slot for slot in range(n_slots) if discovery.holds(region, slot, seen[slot])}
    assert good == set(range(n_slots)) - broken


def test_an_anchor_that_could_not_be_read_is_passed_over() -> None:
    digests = [hashlib.sha256(bytes([slot])).digest() for slot in range(5)]
    anchors = {slot: None if slot == 0 else digests[slot] for slot in range(5)}
    assert discover(region_of(digests, 16, 48), anchors, 5).mode is TableMode.LINEAR


def test_a_digest_that_occurs_twice_does_not_mislead() -> None:
    digests = [hashlib.sha256(bytes([slot])).digest() for slot in range(6)]
    region = digests[0] + digests[2] + region_of(digests, 16, 48)
    anchors: dict[int, bytes | None] = dict(enumerate(digests))
    assert discover(region, anchors, 6) == Discovery(TableMode.LINEAR, 6, 6, 64 + 16, 48)


def test_a_shuffled_table_is_permuted_without_a_name() -> None:
    digests = [hashlib.sha256(bytes([slot])).digest() for slot in range(12)]
    shuffled = random.Random(5).sample(digests, 12)
    region = region_of(shuffled, 100, 48)
    discovery = discover(region, dict(enumerate(digests)), 12)
    assert discovery.mode is TableMode.PERMUTED
    placed = place_permuted(discovery, region, dict(enumerate(digests)), layers=3, experts=4)
    assert (placed.table_offset, placed.entry_stride, placed.order) == (100, 48, None)
    assert all(placed.holds(region, slot, digest) for slot, digest in enumerate(digests))
    assert not placed.holds(region, 0, bytes(32))


def test_a_lone_digest_is_no_table() -> None:
    digest = hashlib.sha256(b"x").digest()
    discovery = discover(region_of([digest], 10, 48), {0: digest, 1: bytes(32)}, 2)
    assert discovery.mode is TableMode.NONE
    assert not discovery.holds(digest, 0, digest)
