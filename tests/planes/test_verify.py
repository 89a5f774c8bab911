import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes import moet2pf_read, verify
from moet_boot.planes.checkpoint import CheckpointIdentity
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf_read import FileFormat
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_own import verify_own
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from testing.golden import GOLDEN
from testing.page_cache import drop_from_cache, resident_bytes
from testing.plane_file import (
    FOREIGN,
    OWN,
    REVISION,
    copy_of,
    flip,
    put,
    write_plane_file,
)
from testing.verification import BODY, EXPECTED, FULL, ORIGIN, STRIDE, bad, failing_reads


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
    assert "it changed while it was verified" in report.findings.problems


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
