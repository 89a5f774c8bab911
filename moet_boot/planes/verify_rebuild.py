"""Compares slots of a plane file with what the checkpoint gives: the strongest proof (planes.md h.4, 3d)."""

import hashlib
import random
from pathlib import Path

from moet_boot.planes.checkpoint import Checkpoint
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.slot_builder import SlotBuilder
from moet_boot.planes.slot_hash import hash_slot


def differing_slots(
    reader: DirectReader, geometry: Geometry, body_offset: int, folder: Path, slots: list[int]
) -> list[int]:
    """Build these slots from the checkpoint in `folder`; return those that the file does not hold in their place.

    Raises the artefact errors when the checkpoint is not whole.
    """
    with Checkpoint(folder) as checkpoint:
        builder = SlotBuilder(checkpoint)
        differing = []
        for slot in slots:
            built = hashlib.sha256(builder.build(slot)[: geometry.slot_bytes]).digest()
            found = hash_slot(reader, builder.buffer, slot, geometry, body_offset + slot * geometry.slot_stride)
            if found.digest != built:
                differing.append(slot)
        return differing


def drawn_slots(n_slots: int, count: int, seed: int) -> list[int]:
    """The slots that a seed draws, in file order."""
    return sorted(random.Random(seed).sample(range(n_slots), min(count, n_slots)))  # noqa: S311  (no secret)
