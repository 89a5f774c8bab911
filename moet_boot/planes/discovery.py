"""Finds the digest table of a MOET2PF file whose header layout is unknown (planes.md h.5).

Slots are hashed and their digests looked for in the bytes before the body. A table found so proves that
slots are as their own file says, not that they fit a checkpoint.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

DIGEST_BYTES = 32


class TableMode(StrEnum):
    """How the entries of a discovered table are ordered."""

    LINEAR = "linear"
    PERMUTED = "permuted"
    NONE = "none"


@dataclass(frozen=True)
class Discovery:
    """A table of digests: that of slot i at `table_offset + i * entry_stride` when linear.

    `table_offset` is the place of the first digest, not of its entry. A permuted table has the smallest
    place found and, when it is recognised, the name of its `order`. `text` means hex digits.
    """

    mode: TableMode
    anchors: int
    anchors_found: int
    table_offset: int | None = None
    entry_stride: int | None = None
    text: bool = False
    order: str | None = None

    def holds(self, region: bytes, slot: int, digest: bytes) -> bool:
        """Whether the table has this digest: in the slot's own place when linear, anywhere when permuted."""
        stored = _stored(digest, text=self.text)
        if self.mode is TableMode.LINEAR and self.table_offset is not None and self.entry_stride is not None:
            return region.startswith(stored, self.table_offset + slot * self.entry_stride)
        return self.mode is TableMode.PERMUTED and stored in region


def anchor_slots(n_slots: int) -> list[int]:
    """Slots whose digests are looked for first: 0, 1, the last, and sixteen evenly spaced."""
    last = n_slots - 1
    return sorted({0, min(1, last), last, *(step * last // 15 for step in range(16))})


def discover(region: bytes, anchors: Mapping[int, bytes | None], n_slots: int) -> Discovery:
    """Find the table in `region` from the digests of the anchors (None: could not be read)."""
    for text in (False, True):
        found = {
            slot: places
            for slot, digest in anchors.items()
            if digest is not None and (places := list(_find_all(region, _stored(digest, text=text))))
        }
        if len(found) > 1:
            return _classify(region, found, Discovery(TableMode.NONE, len(anchors), len(found), text=text), n_slots)
    return Discovery(TableMode.NONE, len(anchors), anchors_found=0)


def place_permuted(
    discovery: Discovery, region: bytes, digests: Mapping[int, bytes], layers: int, experts: int
) -> Discovery:
    """Complete a permuted discovery from the digests of all slots that were hashed; leave others alone."""
    if discovery.mode is not TableMode.PERMUTED:
        return discovery
    places = {
        slot: place
        for slot, digest in digests.items()
        if (place := region.find(_stored(digest, text=discovery.text))) >= 0
    }
    start = min(places.values())
    stride = math.gcd(*(place - start for place in places.values()))
    expert_major = {place - (slot % experts * layers + slot // experts) * stride for slot, place in places.items()}
    order = "expert-major" if len(expert_major) == 1 and len(places) > 1 else None
    return replace(discovery, table_offset=start, entry_stride=stride, order=order)


def _classify(region: bytes, found: dict[int, list[int]], base: Discovery, n_slots: int) -> Discovery:
    width = len(_stored(bytes(DIGEST_BYTES), text=base.text))
    (first, first_places), (second, second_places) = sorted(found.items())[:2]
    for place in first_places:
        for other in second_places:
            stride, rest = divmod(other - place, second - first)
            start = place - first * stride
            fits = stride >= width and start >= 0 and start + (n_slots - 1) * stride + width <= len(region)
            if not rest and fits and all(start + slot * stride in places for slot, places in found.items()):
                return replace(base, mode=TableMode.LINEAR, table_offset=start, entry_stride=stride)
    return replace(base, mode=TableMode.PERMUTED)


def _find_all(region: bytes, needle: bytes) -> Iterator[int]:
    place = region.find(needle)
    while place >= 0:
        yield place
        place = region.find(needle, place + 1)


def _stored(digest: bytes, *, text: bool) -> bytes:
    return digest.hex().encode() if text else digest
