"""Slots of the plane file read before a start: the one reading whose extent the user chooses."""

from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.forecast.facts import file_of
from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import FileFacts, Snapshot
from moet_boot.planes.stamp import stamp_is_valid
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions, VerifyReport
from moet_boot.profile.model import ArtefactKind, Profile

STAMP = "stamp"
FRESH = "fresh"


def with_verified_planes(snapshot: Snapshot, profile: Profile, plan: LaunchPlan, mode: str) -> Snapshot:
    """The snapshot with what a verification of the plane file found; unchanged for `none` and without such a file.

    A full verification that is on record for the unchanged file stands for any; `fresh` reads every slot all the
    same. Reads past the page cache, writes nothing.
    """
    file = file_of(profile, plan, snapshot, ArtefactKind.PLANE_FILE)
    if mode == "none" or file is None or not file.exists or file.dir or file.header_ok is False:
        return snapshot
    judged = _verified(file, mode)
    files = [judged if other is file else other for other in snapshot.files or []]
    return snapshot.model_copy(update={"files": files})


def _verified(file: FileFacts, mode: str) -> FileFacts:
    path = Path(file.path)
    if mode != FRESH and stamp_is_valid(path):
        return file.model_copy(update={"verified": STAMP, "bad_slots": 0})
    how_much = VerifyMode.FULL if mode == FRESH else VerifyMode(mode)
    try:
        return _reported(file, verify_file(path, VerifyOptions(mode=how_much)))
    except MoetBootError as failure:
        return file.model_copy(update={"problems": [*file.problems, failure.what]})


def _reported(file: FileFacts, report: VerifyReport) -> FileFacts:
    return file.model_copy(
        update={
            "verified": report.options.mode.value if report.ok else None,
            "bad_slots": len(report.findings.bad),
            "problems": [*file.problems, *(p for p in report.findings.problems if p not in file.problems)],
        }
    )
