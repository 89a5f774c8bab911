import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.slot_body import SlotBody
from moet_boot.planes.slot_hash import SlotHash, zero_digest
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from testing.plane_file import OWN, TINY, copy_of
from testing.verification import BODY, FULL, STRIDE, punch_hole


def body_of(path: Path, geometry: Geometry = TINY, options: VerifyOptions = FULL) -> SlotBody:
    with DirectReader(path) as reader:
        return SlotBody(reader, geometry, BODY, options)


@given(st.integers(1, 500), st.floats(0, 1), st.integers(0, 2**32))
def test_a_mode_picks_distinct_slots_in_file_order(n_slots: int, share: float, seed: int) -> None:
    geometry = replace(TINY, n_layers=1, n_experts=n_slots)
    for mode, count in (
        (VerifyMode.QUICK, min(8, n_slots)),
        (VerifyMode.SAMPLE, min(n_slots, max(8, round(share * n_slots)))),
        (VerifyMode.FULL, n_slots),
    ):
        chosen = body_of(OWN, geometry, VerifyOptions(mode, share, seed)).chosen()
        assert chosen == sorted(set(chosen))
        assert set(chosen) <= set(range(n_slots))
        assert len(chosen) == count


def test_a_quick_look_takes_the_first_and_the_last() -> None:
    geometry = replace(TINY, n_layers=43, n_experts=256)
    chosen = body_of(OWN, geometry, VerifyOptions(VerifyMode.QUICK)).chosen()
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 11_007, 8)


@pytest.mark.parametrize(
    ("size", "missing"),
    [
        (BODY + 8 * STRIDE, []),
        (BODY + 8 * STRIDE - 1, []),
        (BODY + 7 * STRIDE + TINY.slot_bytes, []),
        (BODY + 7 * STRIDE + TINY.slot_bytes - 1, [7]),
        (BODY + STRIDE, [1, 2, 3, 4, 5, 6, 7]),
        (BODY + 1, list(range(8))),
        (BODY, list(range(8))),
        (100, list(range(8))),
    ],
    ids=["whole", "padding cut", "padding gone", "a byte short", "one slot", "a byte", "no body", "no table"],
)
def test_slots_beyond_the_end_need_no_reading(size: int, missing: list[int], tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    os.truncate(path, size)
    reasons = body_of(path).unreadable()
    assert sorted(reasons) == missing
    assert set(reasons.values()) <= {"it lies beyond the end of the file"}


def test_slots_in_holes_are_named_and_those_with_a_hole_are_chosen(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    punch_hole(path, BODY + 2 * STRIDE, STRIDE + 4096)
    body = body_of(path, options=VerifyOptions(VerifyMode.SAMPLE, 0.0))
    assert body.unreadable() == {2: "it was never written: a hole in the file"}
    assert {2, 3} <= set(body.chosen())


def test_a_hole_in_the_padding_is_nobodys(tmp_path: Path) -> None:
    geometry = Geometry(1, 2, 64, 64)
    (tmp_path / "sparse").write_bytes(b"x" * (BODY + geometry.slot_stride))
    os.truncate(tmp_path / "sparse", BODY + 2 * geometry.slot_stride)
    assert body_of(tmp_path / "sparse", geometry).unreadable() == {1: "it was never written: a hole in the file"}


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (SlotHash(3, b"good"), None),
        (SlotHash(3, b"bad"), "differs"),
        (SlotHash(3, b"good", padding_clean=False), "the padding after it is not zero"),
        (SlotHash(3, b"bad", padding_clean=False), "differs"),
        (SlotHash(3, None, error="Input/output error"), "it cannot be read: Input/output error"),
        (SlotHash(3, zero_digest(TINY.slot_bytes)), "it is all zero: never written"),
    ],
    ids=["good", "bad", "padding", "both", "unreadable", "zeros"],
)
def test_what_is_wrong_with_a_slot(found: SlotHash, reason: str | None) -> None:
    judged = body_of(OWN).judged([found], lambda result: None if result.digest == b"good" else "differs")
    assert judged == ({3: reason} if reason else {})
