import os
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.planes import verify_foreign
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf_read import PUBLISHED_BYTES, FileFormat
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyOptions
from testing.plane_file import (
    FOREIGN,
    OWN,
    copy_of,
    flip,
)
from testing.verification import BODY, EXPECTED, FULL, ORIGIN, STRIDE, bad


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


def test_a_damaged_header_leaves_the_slots_verifiable(tmp_path: Path) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 230)
    report = verify_file(path, FULL)
    assert (report.format, report.findings.verified, report.ok) == (FileFormat.OWN_HEADER_DAMAGED, 8, False)
    assert report.findings.discovery is not None
    assert (report.findings.discovery.table_offset, report.findings.discovery.entry_stride) == (4096, 48)


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
