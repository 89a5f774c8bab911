"""What a fetch would do: for each artefact the files of its commit, what of them is here, and whether the rest fits."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, UsageError
from moet_boot.fetch.download import kept_bytes
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.hub_file import HubFile
from moet_boot.fetch.place import Place, place_of
from moet_boot.fetch.wanted import Wanted
from moet_boot.machine.filesystems import nearest_existing
from moet_boot.planes.direct_io import unreadable
from moet_boot.units import GIB

RESERVE_BYTES = GIB
"""A filesystem that is filled to the last byte breaks whatever else writes there."""


@dataclass(frozen=True)
class PlannedFile:
    """A file and what of it is here: `there` says that the size is right, `kept` counts an unfinished one's bytes."""

    place: Place
    there: bool
    kept: int

    @property
    def missing_bytes(self) -> int:
        """What has to come."""
        return 0 if self.there else self.place.file.size - self.kept


@dataclass(frozen=True)
class PlannedArtefact:
    """An artefact at a commit."""

    wanted: Wanted
    commit: str
    files: tuple[PlannedFile, ...]

    @property
    def size_bytes(self) -> int:
        """All its files."""
        return sum(file.place.file.size for file in self.files)

    @property
    def missing_bytes(self) -> int:
        """What has to come, as far as sizes tell."""
        return sum(file.missing_bytes for file in self.files)


@dataclass(frozen=True)
class FetchPlan:
    """Everything that is fetched into `folder`; `left_out`: artefacts that are not, and why."""

    folder: Path
    artefacts: tuple[PlannedArtefact, ...]
    left_out: Mapping[str, str]
    free_bytes: int

    @property
    def missing_bytes(self) -> int:
        """What has to come, as far as sizes tell."""
        return sum(artefact.missing_bytes for artefact in self.artefacts)

    @property
    def fits(self) -> bool:
        """Whether there is room for it, with a GiB to spare."""
        return not self.missing_bytes or self.free_bytes >= self.missing_bytes + RESERVE_BYTES


def plan_fetch(hub: Hub, wanted: Sequence[Wanted], left_out: Mapping[str, str], folder: Path) -> FetchPlan:
    """Ask the hub what there is, and look at the disk. Writes nothing.

    Raises as `hub_trouble` says, ArtefactMissingError for what the commit does not have, ArtefactDamagedError when
    the hub has something else than the profile pins, UsageError when `folder` is no folder.
    """
    free = _free_bytes(folder)
    listings: dict[tuple[str, str], list[HubFile]] = {}
    artefacts = []
    for one in wanted:
        commit = one.revision or hub.commit(one.repo)
        if (one.repo, commit) not in listings:
            listings[one.repo, commit] = hub.files(one.repo, commit)
        files = [_checked(file, one) for file in listings[one.repo, commit] if _belongs(file, one)]
        if not files:
            what = one.source or "a file"
            raise ArtefactMissingError(
                f"{one.repo} at {commit} does not have {what}", fix=f"correct artefacts.{one.name} of the profile"
            )
        artefacts.append(PlannedArtefact(one, commit, tuple(_planned(file, one) for file in files)))
    return FetchPlan(folder, tuple(artefacts), left_out, free)


def _belongs(file: HubFile, wanted: Wanted) -> bool:
    if wanted.is_file or not wanted.source:
        return not wanted.source or file.path == wanted.source
    return file.path.startswith(f"{wanted.source}/")


def _checked(file: HubFile, wanted: Wanted) -> HubFile:
    """The file with the digest that it must have: the profile's, where it pins one."""
    if not wanted.is_file:
        return file
    if wanted.sha256 and file.large and file.etag != wanted.sha256:
        raise _another(file, wanted, f"sha256 {file.etag}", f"sha256 {wanted.sha256}")
    if wanted.size_bytes and file.size != wanted.size_bytes:
        raise _another(file, wanted, f"{file.size} bytes", f"{wanted.size_bytes}")
    return replace(file, etag=wanted.sha256 or file.etag)


def _another(file: HubFile, wanted: Wanted, found: str, pinned: str) -> ArtefactDamagedError:
    return ArtefactDamagedError(
        f"{file.path} of {wanted.repo} is another file now: {found}, the profile pins {pinned}",
        fix="fetch it from a repository that still has the pinned one, or pin the new one in a profile of your own",
    )


def _planned(file: HubFile, wanted: Wanted) -> PlannedFile:
    place = place_of(file, wanted.local(file.path), wanted.root)
    there = place.there
    return PlannedFile(place, there, 0 if there else kept_bytes(place.part, file))


def _free_bytes(folder: Path) -> int:
    try:
        existing = nearest_existing(folder)
        if not existing.is_dir():
            raise UsageError(f"{existing} is no folder", fix="name another --dir")
        status = os.statvfs(existing)
    except OSError as error:
        raise unreadable(folder, error) from error
    return status.f_bavail * status.f_frsize
