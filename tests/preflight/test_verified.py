import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import FileFacts, Snapshot
from moet_boot.planes import stamp
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from moet_boot.preflight.verified import with_verified_planes
from moet_boot.profile.model import Profile
from tests.checks.cases import plan_of

TINY = Path(__file__).parents[1] / "data" / "golden" / "vii_moet2pf" / "tiny_own.moet2pf"
FLIPPED_BYTE = 9000


@pytest.fixture
def planes(tmp_path: Path) -> Path:
    return Path(shutil.copy(TINY, tmp_path / "p.moet2pf"))


def verified(path: Path, mode: str, **facts: object) -> FileFacts:
    """What a verification makes of a plane file's facts."""
    profile, plan = places(path)
    seen = FileFacts.model_validate({"path": str(path), "name": "plane_file", "header_ok": True, **facts})
    after = with_verified_planes(Snapshot(files=[seen]), profile, plan, mode)
    assert after.files is not None
    return after.files[0]


def places(path: Path) -> tuple[Profile, LaunchPlan]:
    profile, plan = plan_of("spark")
    return profile, replace(plan, paths={**plan.paths, "plane_file": str(path)})


@pytest.mark.parametrize(
    ("mode", "word"), [("quick", "quick"), ("sample", "sample"), ("full", "full"), ("fresh", "full")]
)
def test_a_sound_file(planes: Path, mode: str, word: str) -> None:
    facts = verified(planes, mode)
    assert (facts.verified, facts.bad_slots, facts.problems) == (word, 0, [])


def test_a_flipped_byte_is_found(planes: Path) -> None:
    damaged = bytearray(planes.read_bytes())
    damaged[FLIPPED_BYTE] ^= 1
    planes.write_bytes(damaged)
    facts = verified(planes, "full")
    assert facts.bad_slots
    assert facts.verified is None


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"exists": False}, id="not-there"),
        pytest.param({"dir": True}, id="a-folder"),
        pytest.param({"header_ok": False}, id="header-damaged"),
    ],
)
def test_what_is_wrong_already_is_not_read(planes: Path, facts: dict[str, object]) -> None:
    assert verified(planes, "full", **facts).verified is None
    assert verified(planes, "full", **facts).bad_slots is None


def test_none_reads_nothing(planes: Path) -> None:
    assert verified(planes, "none").verified is None


def test_a_full_verification_on_record_stands_for_any_unless_a_fresh_one_is_wanted(planes: Path) -> None:
    report = verify_file(planes, VerifyOptions(mode=VerifyMode.FULL))
    assert stamp.write_stamp(planes, report.findings.body_offset, report.state)
    assert verified(planes, "quick").verified == "stamp"
    assert verified(planes, "full").verified == "stamp"
    assert verified(planes, "fresh").verified == "full"


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    facts = verified(tmp_path / "gone.moet2pf", "quick")
    assert facts.verified is None
    assert facts.problems


def test_profiles_without_a_plane_file_are_left_alone() -> None:
    profile, plan = plan_of("rtx6000-a")
    snapshot = Snapshot(files=[FileFacts(path="/planescache", dir=True)])
    assert with_verified_planes(snapshot, profile, plan, "full") is snapshot
