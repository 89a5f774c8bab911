import os
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.planes.checkpoint import read_identity
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.stamp import stamp_is_valid, write_stamp
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


def test_damage_by_the_disk_itself_is_found_where_the_quick_look_goes(big: Path) -> None:
    verify_once(big, FULL)
    flip(big, 8192)
    with DirectReader(big) as reader:  # what rots changes no time: put the record right
        assert write_stamp(big, 8192, reader.state)
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


def test_a_file_replaced_meanwhile_by_one_of_the_same_time_is_not_called_good(big: Path) -> None:
    def replace_it(done: int, total: int) -> None:
        if done == total:
            times = (big.stat().st_atime_ns, big.stat().st_mtime_ns)
            big.with_name("other").write_bytes(big.read_bytes())
            os.utime(big.with_name("other"), ns=times)
            big.with_name("other").rename(big)

    report = verify_once(big, FULL, on_slots=replace_it)
    assert report.findings.problems == ("it changed while it was verified",)
    assert not stamp_is_valid(big)


def test_a_file_of_which_only_the_mode_changed_meanwhile_is_good_but_not_recorded(big: Path) -> None:
    report = verify_once(big, FULL, on_slots=lambda *_: big.chmod(0o600))
    assert report.complete
    assert report.findings.notes == ("this verification is not on record: the file was changed meanwhile",)
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
