import os
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.planes.checkpoint import read_identity
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.stamp import stamp_is_valid
from moet_boot.planes.verify_once import verify_once
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from testing.golden import GOLDEN
from testing.plane_file import FOREIGN, OWN, copy_of, flip, write_plane_file

FULL = VerifyOptions(mode=VerifyMode.FULL, threads=1)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A file with more slots than a quick look takes."""
    write_plane_file(tmp_path / "planes", Geometry(5, 5, 64, 64), seed=1)
    return tmp_path / "planes"


def test_the_second_time_is_quick_and_still_complete(big: Path) -> None:
    first, second = verify_once(big, FULL), verify_once(big, FULL)
    assert (first.findings.verified, first.stamp, first.complete) == (25, None, True)
    assert (second.findings.verified, second.unchecked, second.complete) == (8, 17, True)
    assert second.stamp is not None
    assert second.options.mode is VerifyMode.QUICK
    assert second.bytes_read < first.bytes_read


def test_force_reads_everything_again(big: Path) -> None:
    verify_once(big, FULL)
    assert verify_once(big, FULL, force=True).findings.verified == 25


def test_a_changed_file_is_verified_in_full(big: Path) -> None:
    verify_once(big, FULL)
    flip(big, big.stat().st_size - 20_000)
    os.utime(big)
    report = verify_once(big, FULL)
    assert not report.ok
    assert report.findings.verified == 24


def test_damage_that_hides_from_the_record_is_found_where_the_quick_look_goes(big: Path) -> None:
    verify_once(big, FULL)
    times = (big.stat().st_atime_ns, big.stat().st_mtime_ns)
    flip(big, 8192)
    os.utime(big, ns=times)
    report = verify_once(big, FULL)
    assert report.stamp is not None
    assert not report.ok
    assert not report.complete


@pytest.mark.parametrize(
    "options", [replace(FULL, mode=VerifyMode.QUICK), replace(FULL, mode=VerifyMode.SAMPLE)], ids=["quick", "sample"]
)
def test_less_than_a_full_proof_is_not_recorded(big: Path, options: VerifyOptions) -> None:
    assert verify_once(big, options).ok
    assert not stamp_is_valid(big)


def test_a_damaged_file_is_not_recorded(big: Path) -> None:
    flip(big, 9000)
    assert not verify_once(big, FULL).ok
    assert not stamp_is_valid(big)


def test_nothing_is_recorded_when_told_so(big: Path) -> None:
    assert verify_once(big, FULL, record=False).complete
    assert not stamp_is_valid(big)


def test_a_foreign_file_is_remembered_too(tmp_path: Path) -> None:
    path = copy_of(FOREIGN["a"], tmp_path)
    options = replace(FULL, checkpoint=read_identity(GOLDEN / "iv_ckpt"))
    verify_once(path, options)
    assert verify_once(path, options).stamp is not None


def test_a_record_that_cannot_be_written_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocked").touch()
    monkeypatch.setenv("MOET_BOOT_STATE_DIR", str(tmp_path / "blocked" / "state"))
    report = verify_once(OWN, FULL)
    assert report.complete
    assert "not on record: cannot create" in report.findings.notes[0]
