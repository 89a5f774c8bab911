"""Whether an artefact that was fetched is one that a boot can use: more than that each of its files is right."""

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.fetch.wanted import Wanted
from moet_boot.machine.artefact_files import read_plane_file
from moet_boot.machine.checkpoint import read_checkpoint
from moet_boot.planes.artefacts import find_artefacts
from moet_boot.planes.direct_io import unreadable
from moet_boot.profile.model import ArtefactKind


def check_artefact(wanted: Wanted) -> list[str]:
    """Look at it as a preflight does; returns what is worth a remark.

    Raises ArtefactDamagedError and ArtefactMissingError for what keeps a server from using it.
    """
    try:
        if wanted.kind is ArtefactKind.CHECKPOINT:
            return _check_checkpoint(wanted)
        if wanted.is_file:
            _check_plane_file(wanted)
        else:
            find_artefacts(wanted.path)
    except OSError as error:
        raise unreadable(wanted.path, error) from error
    return []


def _check_checkpoint(wanted: Wanted) -> list[str]:
    seen = read_checkpoint(str(wanted.path))
    if seen.missing:
        names = f"{seen.missing[0]} and {len(seen.missing) - 1} more" if seen.missing[1:] else seen.missing[0]
        raise ArtefactMissingError(
            f"{wanted.repo} does not have {names}, which its own index names",
            fix="ask its owner, or pin another revision",
        )
    _refuse(wanted, seen.problems)
    if seen.incomplete_blobs:
        return [f"{seen.incomplete_blobs} unfinished files of other downloads lie in {wanted.path}: delete them"]
    return []


def _check_plane_file(wanted: Wanted) -> None:
    facts = read_plane_file(wanted.name, str(wanted.path))
    _refuse(wanted, facts.problems or ([] if facts.header_ok is not False else ["its header is damaged"]))


def _refuse(wanted: Wanted, problems: list[str]) -> None:
    if problems:
        more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
        raise ArtefactDamagedError(
            f"{wanted.path} is what {wanted.repo} has, and cannot be used: {problems[0]}{more}",
            fix="fetch into an empty folder; if that is no better, pin another revision",
        )
