"""What plane artefacts a path holds: a plane file, packs, planes caches."""

from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.direct_io import require_regular, unreadable
from moet_boot.planes.moet2pf_read import FileFormat, read_header_facts
from moet_boot.planes.planes_cache import META_NAME, parse_part_name
from moet_boot.planes.store_scan import (
    CacheFolder,
    PackFile,
    describe_cache,
    describe_pack,
    find_caches,
    find_packs,
)


@dataclass(frozen=True)
class PlaneFile:
    """A MOET2PF file, ours or foreign."""

    path: Path


Artefact = PlaneFile | PackFile | CacheFolder


def find_artefacts(path: Path) -> list[Artefact]:
    """Everything at a path that a server or this project would read, in the order of names.

    Raises ArtefactMissingError when nothing is there and ArtefactDamagedError when it is nothing of ours.
    """
    try:
        if not path.is_dir():
            require_regular(path, path.stat().st_mode)
            return [_file_artefact(path)]
        found = _folder_artefacts(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if not found:
        raise ArtefactDamagedError(
            f"{path} holds no plane file, no pack and no planes cache",
            fix="name a .moet2pf file, a store's folder or .pack file, or a cache's folder",
        )
    return found


def single_artefact(path: Path) -> list[Artefact]:
    """The artefacts at a path that belong together: one plane file, one cache, or the packs of one rank.

    Raises UsageError when the path holds more than one set of planes.
    """
    found = find_artefacts(path)
    packs = [artefact for artefact in found if isinstance(artefact, PackFile)]
    if len(found) - len(packs) + bool(packs) > 1 or _mixed(packs):
        names = ", ".join(artefact_path(artefact).name for artefact in found)
        raise UsageError(f"{path} holds more than one set of planes: {names}", fix="name one of them")
    return found


def _mixed(packs: list[PackFile]) -> bool:
    """Whether packs belong to different ranks, servers or checkpoints, or repeat a tag."""
    places = {(pack.server, pack.world, pack.rank) for pack in packs}
    ids = {str(pack.sidecar.get("ckpt_id")) for pack in packs if isinstance(pack.sidecar.value, dict)}
    return len(places) > 1 or len(ids) > 1 or len({pack.tag for pack in packs}) < len(packs)


def artefact_path(artefact: Artefact) -> Path:
    """The file or folder that stands for an artefact."""
    return artefact.pack_path if isinstance(artefact, PackFile) else artefact.path


def _file_artefact(path: Path) -> Artefact:
    if path.suffix in {".pack", ".json"} and (pack := describe_pack(path.with_suffix(".json"))):
        return pack
    if path.name == META_NAME or parse_part_name(path.name):
        cache = describe_cache(path.absolute().parent)
        if cache:
            return cache
    facts = read_header_facts(path)
    if facts.format is FileFormat.NOT_MOET2PF:
        what = "; ".join(facts.problems)
        raise ArtefactDamagedError(f"{path}: {what}", fix="name a plane file, a pack or a planes cache")
    return PlaneFile(path)


def _folder_artefacts(folder: Path) -> list[Artefact]:
    own = describe_cache(folder.absolute())
    if own:
        return [own]
    plane_files = [PlaneFile(path) for path in sorted(folder.glob("*.moet2pf")) if path.is_file()]
    return [*plane_files, *find_packs(folder), *find_caches(folder)]
