import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.moet2pf import (
    Fields,
    FileLayout,
    Header,
    TableEntry,
    table_from_bytes,
    table_problems,
    table_to_bytes,
)
from testing.golden import golden_json
from testing.plane_file import OWN, REPO, REVISION, TINY

EXPECTED = golden_json("vii_moet2pf/expected.json")["own"]
INDEX_SHA256 = bytes.fromhex(golden_json("iv_expected.json")["files"]["model.safetensors.index.json"])
LAYOUT = FileLayout(TINY)
GEOMETRIES = st.builds(
    Geometry,
    n_layers=st.integers(1, 60),
    n_experts=st.integers(1, 256),
    hidden=st.integers(1, 80).map(lambda x: 64 * x),
    inter=st.integers(1, 40).map(lambda x: 64 * x),
)


def golden_header() -> Header:
    return Header(TINY, REPO, REVISION, bytes.fromhex(EXPECTED["table_sha256"]), INDEX_SHA256)


def good_entries() -> list[TableEntry]:
    return [TableEntry(bytes([slot]) * 32, LAYOUT.slot_offset(slot), *divmod(slot, 4)) for slot in range(8)]


def test_the_header_is_the_golden_one() -> None:
    block = golden_header().to_bytes()
    assert block == OWN.read_bytes()[:4096]
    assert block[:160].hex() == EXPECTED["first_160_header_bytes_hex"]
    assert block[4064:].hex() == EXPECTED["header_sha256"]


def test_the_table_is_the_golden_one() -> None:
    slots = golden_json("iv_expected.json")["slots"]
    table = table_to_bytes(LAYOUT, [bytes.fromhex(slot["slot_sha256"]) for slot in slots])
    assert table == OWN.read_bytes()[4096:8192]
    assert hashlib.sha256(table).hexdigest() == EXPECTED["table_sha256"]


def test_the_layout_is_the_golden_one() -> None:
    assert (LAYOUT.table_bytes, LAYOUT.body_offset, LAYOUT.file_bytes) == (384, 8192, EXPECTED["file_bytes"])


def test_the_published_file_has_its_published_size() -> None:
    layout = FileLayout(DS4_FLASH)
    assert (layout.table_bytes, layout.body_offset, layout.file_bytes) == (528_384, 532_480, 77_913_923_584)


@given(GEOMETRIES, st.text(min_size=1, max_size=30).filter(lambda text: "\0" not in text))
def test_headers_round_trip(geometry: Geometry, repo: str) -> None:
    header = Header(geometry, repo, "abc123", bytes(range(32)), bytes(32))
    assert Header.from_fields(Fields.from_block(header.to_bytes())) == header


@given(GEOMETRIES, st.data())
def test_slots_lie_aligned_in_order_and_fill_the_file(geometry: Geometry, data: st.DataObject) -> None:
    layout = FileLayout(geometry)
    slot = data.draw(st.integers(0, geometry.n_slots - 1))
    assert layout.slot_offset(slot) % 4096 == 0
    assert layout.slot_offset(slot) + geometry.slot_bytes <= layout.slot_offset(slot + 1)
    assert layout.slot_offset(geometry.n_slots) == layout.file_bytes
    assert layout.body_offset >= layout.table_offset + layout.table_bytes


@pytest.mark.parametrize(
    ("repo", "revision", "message"),
    [
        ("", REVISION, "repo ''"),
        ("x" * 128, REVISION, "repo 'xxx"),
        ("é" * 64, REVISION, "1 to 127 bytes"),
        ("a\0b", REVISION, "repo"),
        ("a\udcff", REVISION, "repo"),
        (REPO, "", "revision ''"),
        (REPO, "f" * 65, "revision 'fff"),
        (REPO, "main branch", "revision 'main branch'"),
        (REPO, "réf", "ASCII"),
    ],
    ids=["empty", "long", "long in bytes", "NUL", "no text", "no revision", "long revision", "blank", "not ASCII"],
)
def test_texts_that_do_not_fit_are_refused(repo: str, revision: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Header(TINY, repo, revision)


def test_a_geometry_with_absurdly_many_slots_is_refused() -> None:
    with pytest.raises(UsageError, match="more than any model has"):
        Header(Geometry(1 << 20, 1 << 20, 64, 64), REPO, REVISION)


def test_a_sound_table_has_no_problems() -> None:
    entries = table_from_bytes(table_to_bytes(LAYOUT, [entry.sha256 for entry in good_entries()]), 8)
    assert entries == good_entries()
    assert table_problems(LAYOUT, entries) == {}


@pytest.mark.parametrize(
    ("slot", "change", "message"),
    [
        (5, {"layer": 0}, "names layer 0 expert 1"),
        (5, {"expert": 2}, "names layer 1 expert 2"),
        (5, {"offset": LAYOUT.slot_offset(5) + 16}, "is not a multiple of 4096"),
        (5, {"offset": 4096}, "lies outside the body"),
        (5, {"offset": LAYOUT.file_bytes}, "lies outside the body"),
        (5, {"offset": LAYOUT.file_bytes - 4096}, "lies outside the body"),
        (5, {"offset": 1 << 63}, "lies outside the body"),
        (5, {"offset": LAYOUT.slot_offset(2)}, "overlaps another slot"),
        (5, {"offset": LAYOUT.slot_offset(6)}, "overlaps another slot"),
        (5, {"offset": LAYOUT.slot_offset(5) + 4096}, "overlaps another slot"),
        (0, {"offset": LAYOUT.slot_offset(1) - 4096}, "overlaps another slot"),
    ],
    ids=[
        "layer", "expert", "unaligned", "in the table", "at the end", "over the end", "huge",
        "on an earlier slot", "on a later slot", "into the next slot", "over two slots",
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named(slot: int, change: dict[str, Any], message: str) -> None:
    entries = good_entries()
    entries[slot] = entries[slot]._replace(**change)
    problems = table_problems(LAYOUT, entries)
    assert list(problems) == [slot]
    assert message in problems[slot]


def test_two_swapped_slots_are_both_named() -> None:
    entries = good_entries()
    entries[2], entries[6] = (
        entries[2]._replace(offset=entries[6].offset),
        entries[6]._replace(offset=entries[2].offset),
    )
    problems = table_problems(LAYOUT, entries)
    assert sorted(problems) == [2, 6]
    assert all("is not its place" in problem for problem in problems.values())


@given(st.binary(min_size=8 * 48, max_size=8 * 48))
def test_no_bytes_of_a_table_crash_and_none_pass(table: bytes) -> None:
    entries = table_from_bytes(table, 8)
    problems = table_problems(LAYOUT, entries)
    places = [entry._replace(sha256=b"") for entry in good_entries()]
    assert set(problems) == {slot for slot in range(8) if entries[slot]._replace(sha256=b"") != places[slot]}


@given(st.dictionaries(st.integers(0, 7), st.integers(-3, 40).map(lambda x: 4096 * x + 8192).filter(lambda x: x >= 0)))
def test_every_entry_that_is_not_in_its_place_is_named(moved: dict[int, int]) -> None:
    entries = good_entries()
    for slot, offset in moved.items():
        entries[slot] = entries[slot]._replace(offset=offset)
    wrong = {slot for slot, offset in moved.items() if offset != LAYOUT.slot_offset(slot)}
    assert set(table_problems(LAYOUT, entries)) == wrong
