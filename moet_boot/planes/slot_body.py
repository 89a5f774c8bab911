"""The slots of an open file: which of them to read, and what is wrong with those that were read."""

import random
from collections.abc import Callable, Iterable, Iterator

from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.holes import Hole, find_holes
from moet_boot.planes.progress import Progress
from moet_boot.planes.slot_hash import SlotHash, hash_slots, zero_digest
from moet_boot.planes.verify_report import BadSlot, VerifyMode, VerifyOptions

QUICK_SLOTS = 8

Reasons = dict[int, str]
"""Why a slot is bad, by slot."""


class SlotBody:
    """2-bit slots of one geometry, back to back from `start` on."""

    def __init__(self, reader: DirectReader, geometry: Geometry, start: int, options: VerifyOptions) -> None:
        self.reader, self.geometry, self.start, self.options = reader, geometry, start, options
        end = min(self.offset(geometry.n_slots), reader.size)
        self._unwritten = self._by_slot(find_holes(reader.fd, start, end))

    def offset(self, slot: int) -> int:
        """Where a slot begins in the file."""
        return self.start + slot * self.geometry.slot_stride

    def unreadable(self) -> Reasons:
        """Slots that need no reading: wholly in a hole, or beyond the end of the file."""
        size, stride = self.geometry.slot_bytes, self.geometry.slot_stride
        present = max(0, (self.reader.size - self.start - size) // stride + 1)
        empty = {
            slot: "it was never written: a hole in the file" for slot, hole in self._unwritten.items() if hole == size
        }
        return empty | dict.fromkeys(range(present, self.geometry.n_slots), "it lies beyond the end of the file")

    def chosen(self) -> list[int]:
        """The slots that the mode reads, in file order; those with a hole in them always."""
        return sorted({*_picked(self.geometry.n_slots, self.options), *self._unwritten})

    def hashed(self, slots: list[int], on_progress: Progress) -> Iterator[SlotHash]:
        """Hash these slots in parallel."""
        size = self.geometry.slot_bytes
        found = hash_slots(self.reader, slots, self.geometry, self.offset, self.options.threads)
        for done, result in enumerate(found, start=1):
            on_progress(done * size, len(slots) * size)
            yield result

    def judged(self, results: list[SlotHash], judge: Callable[[SlotHash], str | None]) -> Reasons:
        """What is wrong with the slots that were hashed, `judge` comparing digests; good slots are left out."""
        found = ((result.slot, self._reason(result, judge)) for result in results)
        return {slot: reason for slot, reason in found if reason}

    def bad_slots(self, reasons: Reasons) -> tuple[BadSlot, ...]:
        """Full names of bad slots, in file order."""
        experts, size = self.geometry.n_experts, self.geometry.slot_bytes
        return tuple(
            BadSlot(slot, slot // experts, slot % experts, self.offset(slot), size, reason)
            for slot, reason in sorted(reasons.items())
        )

    def _reason(self, found: SlotHash, judge: Callable[[SlotHash], str | None]) -> str | None:
        if found.digest is None:
            return f"it cannot be read: {found.error}"
        if found.digest == zero_digest(self.geometry.slot_bytes):
            return "it is all zero: never written"
        reason = judge(found)
        if reason and found.slot in self._unwritten:
            return f"{reason}; {self._unwritten[found.slot]} of its bytes are a hole"
        return reason or (None if found.padding_clean else "the padding after it is not zero")

    def _by_slot(self, holes: list[Hole]) -> dict[int, int]:
        """Bytes without storage, by slot; holes in the padding do not count."""
        found: dict[int, int] = {}
        stride = self.geometry.slot_stride
        for hole in holes:
            for slot in range((hole.start - self.start) // stride, -(-(hole.end - self.start) // stride)):
                first, end = self.offset(slot), self.offset(slot) + self.geometry.slot_bytes
                size = min(hole.end, end) - max(hole.start, first)
                if size > 0:
                    found[slot] = found.get(slot, 0) + size
        return found


def _picked(n_slots: int, options: VerifyOptions) -> Iterable[int]:
    match options.mode:
        case VerifyMode.FULL:
            return range(n_slots)
        case VerifyMode.SAMPLE:
            count = min(n_slots, max(QUICK_SLOTS, round(options.share * n_slots)))
            return random.Random(options.seed).sample(range(n_slots), count)  # noqa: S311  (no secret)
        case VerifyMode.QUICK:
            return {step * (n_slots - 1) // (QUICK_SLOTS - 1) for step in range(QUICK_SLOTS)}
