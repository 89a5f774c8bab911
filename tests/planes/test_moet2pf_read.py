import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.moet2pf import Fields, Header
from moet_boot.planes.moet2pf_read import (
    PUBLISHED_BYTES,
    FileFormat,
    classify,
    find_revision,
    read_header_facts,
    read_table,
)
from testing.plane_file import FOREIGN, OWN, REVISION, TINY, copy_of, flip, put, set_header

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 77913923584\n"
OWN_BLOCK = OWN.read_bytes()[:4096]


def write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


@dataclass(frozen=True)
class Case:
    name: str
    damage: Callable[[Path], object]
    format: FileFormat
    problem: str


CASES = [
    Case("empty", write(b""), FileFormat.NOT_MOET2PF, "an empty file"),
    Case("LFS pointer", write(LFS), FileFormat.NOT_MOET2PF, "a Git LFS pointer of 75 bytes"),
    Case("zeros", write(bytes(9000)), FileFormat.NOT_MOET2PF, "starts with zeros"),
    Case("wrong magic", lambda p: put(p, 0, b"MOET2PF9"), FileFormat.NOT_MOET2PF, "it starts with b'MOET2PF9'"),
    Case("text", write(b"<html>not found</html>" * 999), FileFormat.NOT_MOET2PF, "it starts with b'<html>no'"),
    Case("cut in the header", lambda p: os.truncate(p, 5000), FileFormat.NOT_MOET2PF, "truncated: 5000 bytes"),
    Case("truncated", lambda p: os.truncate(p, 200_000), FileFormat.OWN, "37568 fewer than the header says"),
    Case("too long", lambda p: os.truncate(p, 240_000), FileFormat.OWN, "2432 more than the header says"),
    Case("flipped bit", lambda p: flip(p, 300), FileFormat.OWN_HEADER_DAMAGED, "checksum is wrong"),
    Case("flipped checksum", lambda p: flip(p, 4090), FileFormat.OWN_HEADER_DAMAGED, "checksum is wrong"),
    Case(
        "version", lambda p: set_header(p, version=2), FileFormat.OWN_HEADER_DAMAGED, "says version 2, this moet-boot"
    ),
    Case(
        "version without checksum",
        lambda p: set_header(p, version=7, checksum=False),
        FileFormat.OWN_HEADER_DAMAGED,
        "says version 7",
    ),
    Case(
        "table out of bounds",
        lambda p: set_header(p, table_offset=1 << 40),
        FileFormat.OWN_HEADER_DAMAGED,
        "says table_offset 1099511627776, expected 4096",
    ),
    Case(
        "body inside the table",
        lambda p: set_header(p, body_offset=4096),
        FileFormat.OWN_HEADER_DAMAGED,
        "says body_offset 4096, expected 8192",
    ),
    Case(
        "overlapping slots",
        lambda p: set_header(p, slot_stride=4096),
        FileFormat.OWN_HEADER_DAMAGED,
        "says slot_stride 4096, expected 28672",
    ),
    Case(
        "unaligned slots",
        lambda p: set_header(p, slot_stride=28_673),
        FileFormat.OWN_HEADER_DAMAGED,
        "says slot_stride 28673",
    ),
    Case("levels", lambda p: set_header(p, level1=-2), FileFormat.OWN_HEADER_DAMAGED, "says level1 -2, expected -1"),
    Case(
        "quantizer",
        lambda p: set_header(p, quantizer_abi=b"other".ljust(64, b"\0")),
        FileFormat.OWN_HEADER_DAMAGED,
        "says quantizer 'other'",
    ),
    Case("no slots", lambda p: set_header(p, n_layers=0), FileFormat.OWN_HEADER_DAMAGED, "n_layers is 0"),
    Case("huge", lambda p: set_header(p, hidden=1 << 31), FileFormat.OWN_HEADER_DAMAGED, "makes no sense"),
    Case("repo", lambda p: set_header(p, repo=b"\xff" * 128), FileFormat.OWN_HEADER_DAMAGED, "is not text"),
    Case("reserved", lambda p: set_header(p, reserved=b"12345678"), FileFormat.OWN_HEADER_DAMAGED, "says reserved"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_damage_has_its_own_words(case: Case, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    case.damage(path)
    facts = read_header_facts(path)
    assert facts.format is case.format
    assert case.problem in "; ".join(facts.problems)


def test_no_two_damages_read_alike(tmp_path: Path) -> None:
    words = []
    for case in CASES:
        path = copy_of(OWN, tmp_path)
        case.damage(path)
        words.append("; ".join(read_header_facts(path).problems))
    distinct = {text for text in words if text != "the header's checksum is wrong: the header is damaged"}
    assert len(distinct) >= len(CASES) - 2


def test_the_golden_own_file() -> None:
    facts = read_header_facts(OWN)
    assert (facts.format, facts.problems, facts.geometry) == (FileFormat.OWN, (), TINY)
    assert (facts.revision, facts.n_slots, facts.size, facts.size_expected) == (REVISION, 8, 237_568, 237_568)
    assert facts.magic_ok
    assert facts.header is not None
    with DirectReader(OWN) as reader:
        entries, table_ok = read_table(reader, facts.header)
    assert table_ok
    assert [entry.layer * 4 + entry.expert for entry in entries] == list(range(8))


@pytest.mark.parametrize("letter", "abc")
def test_golden_foreign_files_tell_their_revision_only(letter: str) -> None:
    facts = read_header_facts(FOREIGN[letter])
    assert (facts.format, facts.problems, facts.geometry) == (FileFormat.FOREIGN, (), None)
    assert (facts.revision, facts.n_slots, facts.size_expected) == (REVISION, None, None)


def test_a_foreign_file_of_the_published_size_has_the_published_geometry() -> None:
    facts = classify(FOREIGN["a"], PUBLISHED_BYTES, FOREIGN["a"].read_bytes()[:4096])
    assert (facts.format, facts.geometry, facts.size_expected) == (FileFormat.FOREIGN, DS4_FLASH, PUBLISHED_BYTES)


def test_a_damaged_header_is_believed_only_where_the_size_agrees(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 224)
    assert read_header_facts(path).geometry == TINY
    set_header(path, n_layers=3, checksum=False)
    assert read_header_facts(path).geometry is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"{'rev': '%b'}" % REVISION.encode(), REVISION),
        (b"sha256 " + b"a" * 64, None),
        (b"%b and %b" % (REVISION.encode(), b"f" * 40), None),
        (b"%b twice %b" % (REVISION.encode(), REVISION.encode()), REVISION),
        (b"nothing", None),
    ],
    ids=["one", "a longer digest", "two different", "the same twice", "none"],
)
def test_a_revision_is_found_where_it_is_unmistakable(text: bytes, found: str | None) -> None:
    assert find_revision(text.ljust(4096, b"\0")) == found


@given(st.integers(8, 4095), st.integers(1, 255))
def test_any_changed_byte_of_a_header_is_noticed(offset: int, change: int) -> None:
    block = bytearray(OWN_BLOCK)
    block[offset] ^= change
    facts = classify(OWN, OWN.stat().st_size, bytes(block))
    assert facts.format is FileFormat.OWN_HEADER_DAMAGED
    assert facts.problems


@given(st.binary(max_size=4088), st.integers(0, 1 << 64))
def test_no_bytes_after_the_magic_make_an_own_file_or_a_crash(rest: bytes, size: int) -> None:
    facts = classify(OWN, size, b"MOET2PF1" + rest.ljust(4088, b"\0"))
    assert facts.format is not FileFormat.OWN


@given(st.dictionaries(st.sampled_from(Fields._fields[1:10]), st.integers(0, 2**32 - 1), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_headers_with_right_checksums_and_wild_numbers_never_pass(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = copy_of(OWN, tmp_path)
    set_header(path, **changes)
    facts = read_header_facts(path)
    original = Header.from_fields(Fields.from_block(OWN_BLOCK))
    assert facts.problems or facts.header == original
