"""Which artefacts of a profile are fetched, from where and to where. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.profile.files import expanded
from moet_boot.profile.model import Artefact, ArtefactKind, Profile
from moet_boot.profile.nearest import did_you_mean


@dataclass(frozen=True)
class Wanted:
    """An artefact to fetch. `source`: the file or folder of the repository, empty for all of it.

    `path`: the file or folder that it becomes here; `root`: the folder with the records of its download;
    `revision`: the pinned commit, None where the profile pins none; `sha256`: pinned content of a single file.
    """

    name: str
    kind: ArtefactKind
    repo: str
    source: str
    path: Path
    root: Path
    revision: str | None
    sha256: str | None
    size_bytes: int | None
    at_home: bool
    """Whether `path` is where the profile looks for it anyway."""

    @property
    def is_file(self) -> bool:
        """Whether it is one file; else a folder."""
        return self.kind is ArtefactKind.PLANE_FILE

    def local(self, hub_path: str) -> Path:
        """Where a file of the repository goes."""
        if self.is_file:
            return self.path
        return self.path / hub_path.removeprefix(f"{self.source}/")


def target_folder(text: str) -> Path:
    """The folder that a `--dir` names. Raises UsageError for none: an unset variable must not mean the present one."""
    folder = expanded(text)
    if not text.strip() or str(folder).startswith("~"):
        raise UsageError(f"--dir {text!r} names no folder", fix="name the folder that the artefacts go to")
    return folder.absolute()


def wanted_artefacts(profile: Profile, folder: Path, only: Collection[str] = ()) -> tuple[list[Wanted], dict[str, str]]:
    """What to fetch into `folder`, and for each artefact that cannot be fetched why.

    Raises UsageError for a name in `only` that the profile does not have, or that has no repository, and when there
    is nothing to fetch at all.
    """
    known = profile.artefacts
    for name in only:
        if name not in known:
            hint = did_you_mean(name, known, f"it has: {', '.join(known) or 'none'}")
            raise UsageError(f"--only {name}: profile {profile.name} has no such artefact", fix=hint)
    chosen = {name: artefact for name, artefact in known.items() if not only or name in only}
    left = {name: f"the profile names no repository: bring it to {a.path}" for name, a in chosen.items() if not a.repo}
    if len(left) == len(chosen) or (only and left):
        named = ", ".join(left) or "no artefact at all"
        raise UsageError(
            f"nothing can be fetched for {named}: profile {profile.name} names no repository",
            fix="bring it here yourself, and name its place in --path NAME=PATH",
        )
    wanted = [_wanted(name, artefact, folder) for name, artefact in chosen.items() if artefact.repo]
    for one, other in combinations(wanted, 2):
        if one.path == other.path:
            raise UsageError(
                f"{one.name} and {other.name} would both become {one.path}",
                fix=f"fetch them into two folders: --only {one.name}, then --only {other.name}",
            )
    return wanted, left


def _wanted(name: str, artefact: Artefact, folder: Path) -> Wanted:
    home = expanded(artefact.path).absolute()
    path = folder / home.name
    is_file = artefact.kind is ArtefactKind.PLANE_FILE
    return Wanted(
        name=name,
        kind=artefact.kind,
        repo=artefact.repo or "",
        source=(artefact.file or (home.name if is_file else "")).strip("/"),
        path=path,
        # where the reader of a checkpoint's revision looks, and the hub's own client
        root=path if artefact.kind is ArtefactKind.CHECKPOINT else folder,
        revision=artefact.revision,
        sha256=artefact.sha256,
        size_bytes=artefact.size_bytes,
        at_home=path == home,
    )
