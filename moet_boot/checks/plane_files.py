"""The plane file: PLANE.PRESENT, PLANE.SIZE, PLANE.FORMAT, PLANE.REVISION, PLANE.SLOTS."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.model_files import LFS_HEAD, fetch_fix
from moet_boot.checks.scope import PLANE_FILE
from moet_boot.exits import Exit
from moet_boot.forecast.facts import artefact_of, file_of
from moet_boot.machine.snapshot import FileFacts
from moet_boot.profile.model import Artefact, ArtefactKind


def _wanted(case: Case) -> tuple[str, Artefact]:
    found = artefact_of(case.profile, ArtefactKind.PLANE_FILE)
    if found is None:
        raise ValueError("this profile has no plane file")
    return found


def _seen(case: Case) -> FileFacts | None:
    return file_of(case.profile, case.plan, case.snapshot, ArtefactKind.PLANE_FILE)


def _damaged(case: Case, measured: str, required: str, why: str) -> Answer:
    name, wanted = _wanted(case)
    return refuse(
        measured,
        required,
        why=why,
        fix=fetch_fix(case, name),
        source=wanted.source,
        code=Exit.ARTEFACT_DAMAGED,
        acceptable=False,
    )


@check("PLANE.PRESENT", "the plane file is there", needs=("files",), scope=PLANE_FILE)
def present(case: Case) -> Answer:
    """The file exists at the path that is mounted."""
    name, wanted = _wanted(case)
    file = _seen(case)
    # an empty list was made by somebody who looked, as with ports and processes
    none_found = case.snapshot.files == [] and f"files.{name}" not in case.snapshot.errors
    if file is None and not none_found:
        return unseen(case, f"artefact {name}", reader=f"files.{name}")
    if file is not None and file.exists and not file.dir:
        return passed(file.path)
    where = file.path if file else case.plan.paths.get(name, wanted.path)
    return refuse(
        f"{where} is a folder" if file and file.dir else f"{where} does not exist",
        f"the plane file {wanted.file or name}",
        why=wanted.why,
        fix=fetch_fix(case, name),
        source=wanted.source,
        code=Exit.ARTEFACT_MISSING,
        acceptable=False,
    )


@check("PLANE.SIZE", "the plane file's size", needs=("files",), scope=PLANE_FILE)
def size(case: Case) -> Answer:
    """The published size to the byte: downloads stop short without an error."""
    want, file = _wanted(case)[1].size_bytes, _seen(case)
    if file is None or not file.exists:
        return skip("there is no plane file (PLANE.PRESENT)")
    if want is None or file.size is None:
        return skip("the profile names no size, or the file's was not read")
    measured = f"{file.path}: {file.size:,} bytes"
    if file.size == want:
        return passed(measured, f"{want:,} bytes")
    return _damaged(
        case,
        measured + (", truncated" if file.size < want else ", larger than published"),
        f"{want:,} bytes",
        "a download that stops early leaves a file whose head is in order; the rest would be read as zeros or not at"
        " all",
    )


@check("PLANE.FORMAT", "the plane file's header", needs=("files",), scope=PLANE_FILE)
def format_(case: Case) -> Answer:
    """A MOET2PF1 header; a pointer or a page of HTML is none."""
    file = _seen(case)
    if file is None or not file.exists:
        return skip("there is no plane file (PLANE.PRESENT)")
    if (file.head or "").startswith(LFS_HEAD):
        return _damaged(case, f"{file.path} is a git-LFS pointer", "MOET2PF1", "a pointer is a text of 135 bytes")
    if file.header_ok is False or file.format in {"not-moet2pf", "own-header-damaged"}:
        said = file.format or "header not in order"
        reason = file.problems[0] if file.problems else "the header decides where every slot lies"
        return _damaged(case, f"{file.path}: {said}", "a sound MOET2PF1 header", reason)
    if file.header_ok is None and file.format is None:
        return skip("the header was not read")
    return passed(f"header in order{f' ({file.format})' if file.format else ''}")


@check("PLANE.REVISION", "planes and checkpoint are of one revision", needs=("files",), scope=PLANE_FILE)
def revision(case: Case) -> Answer:
    """The revision pinned in the file, against the profile's checkpoint and the one on disk."""
    file = _seen(case)
    pinned = file.pinned_revision if file else None
    if file is None or pinned is None:
        return skip("the file's revision was not read")
    checkpoint = artefact_of(case.profile, ArtefactKind.CHECKPOINT)
    on_disk = case.snapshot.checkpoint.revision if case.snapshot.checkpoint else None
    want = on_disk or (checkpoint[1].revision if checkpoint else None)
    if want is None:
        return skip("nothing says which revision it must be")
    if pinned.lower() == want.lower():
        return passed(f"pinned to {pinned}", want)
    return _damaged(
        case,
        f"planes of revision {pinned}",
        f"revision {want}, as the checkpoint",
        "experts and dense weights of two revisions serve wrong answers and say nothing",
    )


@check("PLANE.SLOTS", "the slots of the plane file", needs=("files",), scope=PLANE_FILE)
def slots(case: Case) -> Answer:
    """What the verification found; the server verifies again at each boot."""
    file = _seen(case)
    if file is None or not file.exists:
        return skip("there is no plane file (PLANE.PRESENT)")
    if file.bad_slots:
        return _damaged(
            case,
            f"{file.bad_slots} slots differ from their digest",
            "no slot that differs",
            "a damaged expert answers nonsense for the tokens that reach it",
        )
    if file.problems and file.verified is None:
        return warn(
            f"{file.path}: {file.problems[0]}",
            "slots that can be compared with their digests",
            why="what cannot be verified here the server verifies at its start, or not at all",
            fix="moet-boot planes verify --mode full --whole-file names what is wrong and compares the whole file",
            source=_wanted(case)[1].source,
        )
    if file.verified is None:
        return skip("not verified: --verify quick, sample or full reads slots")
    return passed(f"no bad slot ({file.verified})")


CHECKS: tuple[Check, ...] = (present, size, format_, revision, slots)
