import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf import FileLayout
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode
from testing.plane_file import (
    OWN,
    copy_of,
    flip,
    put,
    set_entry,
    set_header,
    write_plane_file,
)
from testing.verification import BODY, FULL, ORIGIN, STRIDE, bad, failing_reads, punch_hole


@given(st.integers(0, OWN.stat().st_size - 1), st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_any_flipped_bit_fails_a_full_verification(tmp_path: Path, offset: int, bit: int) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, offset, bit)
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN))
    assert not report.ok
    if offset >= BODY:
        assert list(bad(report)) == [(offset - BODY) // STRIDE]


def flip_two(path: Path) -> None:
    flip(path, BODY)
    flip(path, BODY + 6 * STRIDE + 5)


@dataclass(frozen=True)
class Case:
    name: str
    damage: Callable[[Path], object]
    bad: dict[int, str]
    problem: str = ""


CASES = [
    Case("flipped", lambda p: flip(p, BODY + 3 * STRIDE + 7), {3: "its sha256 differs from the table"}),
    Case(
        "two flipped",
        flip_two,
        {0: "its sha256 differs from the table", 6: "its sha256 differs from the table"},
    ),
    Case("padding", lambda p: flip(p, BODY + 4 * STRIDE - 1), {3: "the padding after it is not zero"}),
    Case("zeros", lambda p: put(p, BODY + 2 * STRIDE, bytes(STRIDE)), {2: "it is all zero: never written"}),
    Case("hole", lambda p: punch_hole(p, BODY + 4096 * 7, STRIDE), {1: "it was never written: a hole in the file"}),
    Case(
        "part of a slot a hole",
        lambda p: punch_hole(p, BODY + 4096 * 8, 4096),
        {1: "its sha256 differs from the table; 4096 of its bytes are a hole"},
    ),
    Case(
        "truncated",
        lambda p: os.truncate(p, BODY + 5 * STRIDE + 4096),
        dict.fromkeys((5, 6, 7), "it lies beyond the end of the file"),
        "truncated: the file has 155648 bytes, 81920 fewer",
    ),
    Case(
        "truncated inside the table",
        lambda p: os.truncate(p, 8191 + 1),
        dict.fromkeys(range(8), "it lies beyond the end of the file"),
        "truncated: the file has 8192 bytes",
    ),
    Case("too long", lambda p: os.truncate(p, 240_000), {}, "too long: the file has 240000 bytes, 2432 more"),
    Case(
        "table",
        lambda p: flip(p, 4096 + 48 * 2),
        {2: "its sha256 differs from the table, which is damaged"},
        "the table's checksum is wrong",
    ),
    Case("padding of the table", lambda p: flip(p, 8000), {}, "the table's checksum is wrong"),
    Case(
        "entry out of bounds",
        lambda p: set_entry(p, 4, lambda e: e._replace(offset=1 << 50)),
        {4: "its offset 1125899906842624 in the table lies outside the body"},
    ),
    Case(
        "entry unaligned",
        lambda p: set_entry(p, 4, lambda e: e._replace(offset=e.offset + 1)),
        {4: "its offset 122881 in the table is not a multiple of 4096"},
    ),
    Case(
        "entry on another slot",
        lambda p: set_entry(p, 4, lambda e: e._replace(offset=BODY)),
        {4: "its offset 8192 in the table overlaps another slot"},
    ),
    Case(
        "entry of another expert",
        lambda p: set_entry(p, 4, lambda e: e._replace(expert=3)),
        {4: "its table entry names layer 1 expert 3"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_damage_is_named_and_the_rest_is_still_checked(case: Case, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    case.damage(path)
    report = verify_file(path, FULL)
    assert not report.ok
    assert bad(report) == case.bad
    assert case.problem in "; ".join(report.findings.problems)
    assert report.unchecked == 0


def test_a_bad_slot_has_its_full_name(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, BODY + 6 * STRIDE)
    (slot,) = verify_file(path, FULL).findings.bad
    assert (slot.slot, slot.layer, slot.expert, slot.offset, slot.bytes) == (6, 1, 2, BODY + 6 * STRIDE, 27_648)


@pytest.mark.parametrize("mode", VerifyMode)
def test_holes_are_noticed_in_every_mode(mode: VerifyMode, tmp_path: Path) -> None:
    path = tmp_path / "planes"
    geometry = Geometry(10, 10, 64, 64)
    write_plane_file(path, geometry, seed=1)
    start = FileLayout(geometry).slot_offset(37)
    punch_hole(path, start, geometry.slot_stride)
    assert list(bad(verify_file(path, replace(FULL, mode=mode, share=0.0)))) == [37]


def test_a_slot_with_a_hole_where_zeros_belong_is_good(tmp_path: Path) -> None:
    path = tmp_path / "planes"
    geometry = Geometry(1, 2, 256, 128)
    header = write_plane_file(path, geometry, seed=1)
    zeroed = bytearray(path.read_bytes()[header.layout.body_offset :][: geometry.slot_bytes])
    zeroed[4096:8192] = bytes(4096)
    put(path, header.layout.body_offset, bytes(zeroed))
    digest = hashlib.sha256(zeroed).digest()
    set_entry(path, 0, lambda entry: entry._replace(sha256=digest))
    punch_hole(path, header.layout.body_offset + 4096, 4096)
    assert verify_file(path, FULL).ok


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, BODY + 2 * STRIDE)
    report = verify_file(path, replace(FULL, threads=threads))
    assert list(bad(report)) == [2]
    assert report.findings.verified == 7


def test_an_io_error_in_the_middle_costs_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_reads(monkeypatch, BODY + 3 * STRIDE, BODY + 3 * STRIDE + 1)
    report = verify_file(OWN, FULL)
    assert bad(report) == {3: "it cannot be read: Input/output error"}
    assert report.findings.verified == 7


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_any_geometry_verify_and_their_damage_is_found(tmp_path: Path, data: st.DataObject) -> None:
    geometry = data.draw(
        st.builds(
            Geometry,
            n_layers=st.integers(1, 3),
            n_experts=st.integers(1, 4),
            hidden=st.integers(1, 4).map(lambda x: 64 * x),
            inter=st.integers(1, 3).map(lambda x: 64 * x),
        )
    )
    path = tmp_path / "planes"
    header = write_plane_file(path, geometry, seed=data.draw(st.integers(0, 99)))
    assert verify_file(path, FULL).ok
    hurt = data.draw(st.sets(st.integers(0, geometry.n_slots - 1), max_size=3))
    for slot in hurt:
        flip(path, header.layout.slot_offset(slot) + data.draw(st.integers(0, geometry.slot_bytes - 1)))
    report = verify_file(path, FULL)
    assert set(bad(report)) == hurt
    assert report.findings.verified == geometry.n_slots - len(hurt)


def test_the_version_of_a_newer_file_is_named(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    set_header(path, version=2)
    report = verify_file(path, FULL)
    assert not report.ok
    assert "the header says version 2, this moet-boot reads version 1" in report.findings.problems
