from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.exits import Exit
from tests.checks.cases import GONE, case_of, judge_by, said

IDS = ["PLANE.PRESENT", "PLANE.SIZE", "PLANE.FORMAT", "PLANE.REVISION", "PLANE.SLOTS"]


def plane(**changes: Any) -> dict[str, Any]:
    return {f"files.0.{key}": value for key, value in changes.items()}


@pytest.mark.parametrize(
    ("id_", "changes", "status", "words"),
    [
        pytest.param("PLANE.PRESENT", {}, "pass", [], id="there"),
        pytest.param("PLANE.PRESENT", plane(exists=False), "refuse", ["does not exist"], id="not-there"),
        pytest.param("PLANE.PRESENT", plane(dir=True), "refuse", ["is a folder"], id="a-folder"),
        pytest.param("PLANE.PRESENT", {"files": []}, "refuse", ["does not exist", "ds4-planes"], id="no-file-at-all"),
        pytest.param("PLANE.PRESENT", {"files.0.path": "/other"}, "skipped", [], id="not-looked-at"),
        pytest.param("PLANE.PRESENT", {"files": None}, "skipped", [], id="nobody-looked"),
        pytest.param("PLANE.SIZE", {}, "pass", ["77,913,923,584 bytes"], id="to-the-byte"),
        pytest.param("PLANE.SIZE", plane(size=22_000_000_000), "refuse", ["truncated", "77,913,923,584"], id="cut"),
        pytest.param("PLANE.SIZE", plane(size=77_913_923_583), "refuse", ["truncated"], id="one-byte-short"),
        pytest.param("PLANE.SIZE", plane(size=77_913_923_585), "refuse", ["larger"], id="one-byte-more"),
        pytest.param("PLANE.SIZE", plane(size=GONE), "skipped", [], id="size-not-read"),
        pytest.param("PLANE.SIZE", plane(exists=False), "skipped", ["plane.present"], id="size-of-nothing"),
        pytest.param("PLANE.FORMAT", {}, "pass", [], id="header"),
        pytest.param(
            "PLANE.FORMAT", plane(header_ok=False, problems=["a sum is wrong"]), "refuse", ["a sum"], id="bad"
        ),
        pytest.param(
            "PLANE.FORMAT", plane(header_ok=None, format="not-moet2pf"), "refuse", ["not-moet2pf"], id="other"
        ),
        pytest.param("PLANE.FORMAT", plane(header_ok=None, format="own-header-damaged"), "refuse", [], id="damaged"),
        pytest.param("PLANE.FORMAT", plane(header_ok=None, format="foreign"), "pass", ["foreign"], id="foreign"),
        pytest.param("PLANE.FORMAT", plane(header_ok=None), "skipped", [], id="header-not-read"),
        pytest.param("PLANE.FORMAT", plane(head="version https://git-lfs.x"), "refuse", ["pointer"], id="pointer"),
        pytest.param("PLANE.FORMAT", plane(exists=False), "skipped", [], id="format-of-nothing"),
        pytest.param("PLANE.REVISION", {}, "pass", ["pinned to 60d8"], id="pinned"),
        pytest.param("PLANE.REVISION", plane(pinned_revision="f" * 40), "refuse", ["wrong answers"], id="another"),
        pytest.param("PLANE.REVISION", plane(pinned_revision=None), "skipped", [], id="not-pinned"),
        pytest.param(
            "PLANE.REVISION", {"checkpoint.revision": "f" * 40}, "refuse", ["ffff"], id="the-checkpoint-on-disk-counts"
        ),
        pytest.param("PLANE.REVISION", {"checkpoint": None}, "pass", [], id="else-the-profiles"),
        pytest.param("PLANE.SLOTS", {}, "skipped", ["--verify"], id="not-verified"),
        pytest.param("PLANE.SLOTS", plane(verified="quick", bad_slots=0), "pass", ["quick"], id="verified"),
        pytest.param("PLANE.SLOTS", plane(verified=None, bad_slots=3), "refuse", ["3 slots"], id="bad-slots"),
        pytest.param("PLANE.SLOTS", plane(exists=False), "skipped", [], id="slots-of-nothing"),
        pytest.param(
            "PLANE.SLOTS", plane(problems=["no digest table found"]), "warn", ["no digest table"], id="cannot-be-proven"
        ),
    ],
)
def test_plane_file(id_: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by(id_, case_of("spark", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)
    if status == "refuse":
        missing = id_ == "PLANE.PRESENT"
        assert finding.code is (Exit.ARTEFACT_MISSING if missing else Exit.ARTEFACT_DAMAGED)
        assert not finding.acceptable


@pytest.mark.parametrize("id_", IDS)
def test_profiles_without_a_plane_file(id_: str) -> None:
    assert judge_by(id_, case_of("rtx6000-a")).status is Status.SKIPPED


def test_the_file_is_found_by_its_name_before_its_path() -> None:
    changes = {"files.1": {"path": "/elsewhere", "name": "plane_file", "size": 5}}
    assert "/elsewhere: 5 bytes" in judge_by("PLANE.SIZE", case_of("spark", changes)).measured


def test_a_plane_file_that_could_not_be_read_says_why() -> None:
    errors = {"files.plane_file": "Permission denied"}
    case = case_of("spark", {"files": []}, sight=Sight.LIVE, errors=errors)
    finding = judge_by("PLANE.PRESENT", case)
    assert finding.status is Status.WARN
    assert "Permission denied" in finding.measured
