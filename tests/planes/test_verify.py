import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes import moet2pf_read, verify, verify_foreign
from moet_boot.planes.checkpoint import CheckpointIdentity, read_identity
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf import FileLayout
from moet_boot.planes.moet2pf_read import PUBLISHED_BYTES, FileFormat
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_own import verify_own
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions, VerifyReport
from testing.golden import GOLDEN, golden_json
from testing.page_cache import drop_from_cache, resident_bytes
from testing.plane_file import (
    FOREIGN,
    OWN,
    REVISION,
    TINY,
    copy_of,
    flip,
    put,
    set_entry,
    set_header,
    write_plane_file,
)

BODY, STRIDE = 8192, TINY.slot_stride
EXPECTED = golden_json("vii_moet2pf/expected.json")
ORIGIN = read_identity(GOLDEN / "iv_ckpt")
FULL = VerifyOptions(mode=VerifyMode.FULL, threads=2)


def punch_hole(path: Path, start: int, size: int) -> None:
    """Make a part of a file a hole by writing it anew around the gap."""
    data = path.read_bytes()
    path.unlink()
    with path.open("wb") as file:
        file.write(data[:start])
        file.seek(start + size)
        file.write(data[start + size :])
        file.truncate(len(data))


def bad(report: VerifyReport) -> dict[int, str]:
    return {slot.slot: slot.reason for slot in report.findings.bad}


@pytest.mark.parametrize("mode", VerifyMode)
def test_a_sound_file_is_good_in_every_mode(mode: VerifyMode) -> None:
    report = verify_file(OWN, replace(FULL, mode=mode))
    assert report.ok
    assert (report.format, report.findings.slots, report.findings.verified) == (FileFormat.OWN, 8, 8)
    assert (report.unchecked, bad(report), report.findings.discovery) == (0, {}, None)
    assert (report.io, report.revision) == ("direct", REVISION)
    assert report.bytes_read == 4096 + 4096 + 8 * STRIDE


@pytest.mark.parametrize("name", ["own", "foreign_a", "foreign_b", "foreign_c"])
def test_golden_files_have_their_golden_digest(name: str) -> None:
    report = verify_file(GOLDEN / "vii_moet2pf" / f"tiny_{name}.moet2pf", replace(FULL, whole_file=True))
    assert report.whole_file_sha256 == EXPECTED[name]["sha256"]
    assert report.known is None


@pytest.mark.parametrize("letter", "abc")
@pytest.mark.parametrize(
    ("key", "offset", "bit"),
    [
        ("discovery", None, 0),
        ("discovery_after_flip_slot0", BODY, 0),
        ("discovery_after_flip_slot3", BODY + 3 * STRIDE + 9, 7),
    ],
    ids=["whole", "slot 0", "slot 3"],
)
def test_foreign_files_give_their_golden_verdict(
    letter: str, key: str, offset: int | None, bit: int, tmp_path: Path
) -> None:
    path, expected = copy_of(FOREIGN[letter], tmp_path), EXPECTED[f"foreign_{letter}"][key]
    if offset is not None:
        flip(path, offset, bit)
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN))
    assert report.format is FileFormat.FOREIGN
    assert report.findings.discovery is not None
    assert report.findings.discovery.mode == expected["mode"]
    assert report.findings.verified == expected.get("verified", 0)
    assert list(bad(report)) == expected.get("bad", [])
    assert report.ok is (offset is None and letter != "c")


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


def test_quick_looks_at_a_few_and_says_so(tmp_path: Path) -> None:
    write_plane_file(tmp_path / "planes", Geometry(10, 10, 64, 64), seed=1)
    report = verify_file(tmp_path / "planes", VerifyOptions())
    assert report.ok
    assert (report.findings.verified, report.unchecked, report.complete) == (8, 92, False)


def test_a_sample_is_the_share_that_its_seed_draws(tmp_path: Path) -> None:
    geometry = Geometry(10, 10, 64, 64)
    header = write_plane_file(tmp_path / "planes", geometry, seed=1)
    for slot in range(100):
        flip(tmp_path / "planes", header.layout.slot_offset(slot))
    sample = replace(FULL, mode=VerifyMode.SAMPLE, share=0.2)
    first, again, other = (bad(verify_file(tmp_path / "planes", replace(sample, seed=seed))) for seed in (1, 1, 2))
    assert len(first) == len(other) == 20
    assert first == again != other


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, BODY + 2 * STRIDE)
    report = verify_file(path, replace(FULL, threads=threads))
    assert list(bad(report)) == [2]
    assert report.findings.verified == 7


def failing_reads(monkeypatch: pytest.MonkeyPatch, start: int, end: int) -> None:
    """The disk answers EIO for part of every file."""
    whole = os.preadv

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        if offset < end and offset + sum(map(len, buffers)) > start:
            raise OSError(errno.EIO, "Input/output error")
        return whole(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", preadv)


def test_an_io_error_in_the_middle_costs_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_reads(monkeypatch, BODY + 3 * STRIDE, BODY + 3 * STRIDE + 1)
    report = verify_file(OWN, FULL)
    assert bad(report) == {3: "it cannot be read: Input/output error"}
    assert report.findings.verified == 7


@pytest.mark.parametrize("start", [0, 4096], ids=["header", "table"])
def test_an_io_error_in_header_or_table_is_one_error(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_reads(monkeypatch, start, start + 1)
    with pytest.raises(ArtefactDamagedError, match="cannot be read: Input/output error"):
        verify_file(OWN, FULL)


def test_a_file_that_shrinks_meanwhile_is_bad_and_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copy_of(OWN, tmp_path)
    monkeypatch.setattr(verify, "verify_own", shrinking(path, verify_own))
    report = verify_file(path, FULL)
    assert "the file ends at" in bad(report)[7]
    assert "it was written to while it was verified" in report.findings.problems


def shrinking(path: Path, call: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any) -> Any:
        os.truncate(path, BODY + 7 * STRIDE + 100)
        os.utime(path)
        return call(*args)

    return wrapped


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError):
        verify_file(tmp_path / "nothing", FULL)


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n", bytes(9000), b"x" * 9000])
def test_what_is_no_plane_file_is_a_report_and_no_crash(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(content)
    report = verify_file(tmp_path / "odd", replace(FULL, whole_file=True, revision=REVISION))
    assert report.format is FileFormat.NOT_MOET2PF
    assert not report.ok
    assert len(report.findings.problems) == 1


def test_a_damaged_header_leaves_the_slots_verifiable(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 230)
    report = verify_file(path, FULL)
    assert (report.format, report.findings.verified, report.ok) == (FileFormat.OWN_HEADER_DAMAGED, 8, False)
    assert report.findings.discovery is not None
    assert (report.findings.discovery.table_offset, report.findings.discovery.entry_stride) == (4096, 48)


@pytest.mark.parametrize("path", [OWN, FOREIGN["a"]], ids=["own", "foreign"])
def test_another_revision_is_refused(path: Path) -> None:
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, revision="f" * 40))
    assert not report.ok
    assert report.findings.problems == (f"made from revision {REVISION}, expected {'f' * 40}",)
    assert verify_file(path, replace(FULL, checkpoint=ORIGIN, revision=REVISION)).ok


def test_a_revision_that_cannot_be_read_is_said_and_not_refused(tmp_path: Path) -> None:
    path = copy_of(FOREIGN["a"], tmp_path)
    put(path, 16, bytes(120))
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, revision=REVISION))
    assert report.ok
    assert "revision could not be read" in report.findings.notes[0]


@pytest.mark.parametrize(
    ("origin", "problem"),
    [
        (replace(ORIGIN, index_sha256=b"x" * 32), "made from a checkpoint with another index: 0934aab"),
        (replace(ORIGIN, geometry=Geometry(2, 4, 128, 128)), "made for Geometry"),
    ],
    ids=["index", "geometry"],
)
def test_another_checkpoint_is_refused(origin: CheckpointIdentity, problem: str) -> None:
    report = verify_file(OWN, replace(FULL, checkpoint=origin))
    assert not report.ok
    assert report.findings.problems[0].startswith(problem)


def test_a_foreign_file_of_unknown_geometry_is_not_called_good() -> None:
    report = verify_file(FOREIGN["a"], FULL)
    assert not report.ok
    assert "the header's layout is unknown and the size, 237568 bytes, is" in report.findings.problems[0]


def test_a_geometry_that_does_not_fit_the_size_is_said() -> None:
    wrong = replace(ORIGIN, geometry=Geometry(2, 4, 512, 128))
    report = verify_file(FOREIGN["a"], replace(FULL, checkpoint=wrong))
    assert "does not fit 8 slots" in report.findings.problems[0]


def test_a_published_file_of_which_only_the_header_arrived(tmp_path: Path) -> None:
    path = tmp_path / "ds4-planes.moet2pf"
    path.write_bytes(FOREIGN["a"].read_bytes()[:4096])
    os.truncate(path, PUBLISHED_BYTES)
    report = verify_file(path, VerifyOptions())
    assert (report.format, report.findings.slots, report.ok) == (FileFormat.FOREIGN, 11_008, False)
    assert verify_foreign.NO_TABLE in report.findings.problems


def test_a_known_digest_settles_a_file_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moet2pf_read, "KNOWN_FILES", {})
    monkeypatch.setattr(verify, "KNOWN_FILES", {EXPECTED["foreign_c"]["sha256"]: "golden"})
    report = verify_file(FOREIGN["c"], replace(FULL, checkpoint=ORIGIN, whole_file=True))
    assert (report.known, report.ok, report.complete) == ("golden", True, True)


def test_a_file_of_the_published_size_with_another_digest_is_unmasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PUBLISHED_BYTES", FOREIGN["a"].stat().st_size)
    report = verify_file(FOREIGN["a"], replace(FULL, checkpoint=ORIGIN, whole_file=True))
    assert not report.ok
    assert "differs from the published ds4-planes.moet2pf" in report.findings.problems[0]


def test_an_io_error_while_the_whole_file_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(verify, "whole_file_sha256", fail)
    with pytest.raises(ArtefactDamagedError, match="Input/output error"):
        verify_file(OWN, replace(FULL, whole_file=True))


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "buffered"])
def test_the_page_cache_is_left_as_it_was(direct: bool, tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    drop_from_cache(path)
    report = verify_file(path, replace(FULL, whole_file=True, direct=direct))
    assert report.io == ("direct" if direct else "buffered")
    assert resident_bytes(path) == 0


def test_progress_reaches_the_end_and_counts_slots() -> None:
    slots: list[tuple[int, int]] = []
    whole: list[tuple[int, int]] = []
    verify_file(
        OWN,
        replace(FULL, whole_file=True),
        on_slots=lambda done, total: slots.append((done, total)),
        on_whole_file=lambda done, total: whole.append((done, total)),
    )
    assert [done for done, _ in slots] == [27_648 * count for count in range(1, 9)]
    assert slots[-1] == (8 * 27_648, 8 * 27_648)
    assert whole[-1] == (237_568, 237_568)


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


@pytest.mark.parametrize("path", [OWN, FOREIGN["a"], FOREIGN["c"]], ids=["own", "foreign", "without a table"])
def test_slots_can_be_compared_with_what_the_checkpoint_gives(path: Path) -> None:
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=5))
    assert "5 of 5 slots were rebuilt from the checkpoint and are equal" in report.findings.notes


def test_planes_of_another_checkpoint_are_unmasked_by_a_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "planes"
    write_plane_file(path, TINY, seed=1)
    assert verify_file(path, replace(FULL, checkpoint=ORIGIN)).ok
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=2, seed=3))
    assert not report.ok
    assert len(report.findings.problems) == 2
    assert "is not what the checkpoint gives" in report.findings.problems[0]


def test_swapped_slots_are_unmasked_by_a_rebuild(tmp_path: Path) -> None:
    path = copy_of(FOREIGN["b"], tmp_path)
    data = path.read_bytes()
    for slot, other in ((1, 2), (2, 1)):
        put(path, BODY + slot * STRIDE, data[BODY + other * STRIDE :][:STRIDE])
    assert verify_file(path, replace(FULL, checkpoint=ORIGIN)).ok
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=8))
    assert [problem.split()[1] for problem in report.findings.problems] == ["1", "2"]


def test_a_rebuild_of_more_slots_than_there_are_takes_all() -> None:
    report = verify_file(OWN, replace(FULL, checkpoint=ORIGIN, rebuild=99))
    assert "8 of 8 slots were rebuilt" in report.findings.notes[-1]
