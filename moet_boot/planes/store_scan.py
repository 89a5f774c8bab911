"""Finds the packs and planes caches in a folder, whoever wrote them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moet_boot.planes.json_file import FileState, JsonFile, read_json
from moet_boot.planes.planes_cache import META_NAME
from moet_boot.planes.server_version import ServerVersion

_PACK_NAME = re.compile(
    r"(?P<tag>[a-z0-9]+)(?:\.v2\.(?P<key>[0-9a-f]{20}))?\.rank(?P<rank>\d+)of(?P<world>\d+)(?P<pipe>\S*)"
)
_RANK_NAME = re.compile(r"tp(?P<world>\d+)-rank(?P<rank>\d+)")


@dataclass(frozen=True)
class PackFile:
    """A pack by its sidecar; the rows lie beside it under the same stem."""

    sidecar_path: Path
    sidecar: JsonFile
    tag: str
    server: ServerVersion
    world: int
    rank: int

    @property
    def pack_path(self) -> Path:
        return self.sidecar_path.with_suffix(".pack")


@dataclass(frozen=True)
class CacheFolder:
    """One rank's folder of a planes cache."""

    path: Path
    meta: JsonFile
    server: ServerVersion
    world: int
    rank: int


def find_packs(store: Path) -> list[PackFile]:
    """Every pack in a store's folder, also one without its sidecar; raises OSError for an unreadable folder."""
    names = {path.stem for path in store.iterdir() if path.suffix in {".json", ".pack"} and ".tmp" not in path.name}
    return [found for name in sorted(names) if (found := describe_pack(store / f"{name}.json"))]


def describe_pack(sidecar_path: Path) -> PackFile | None:
    """The pack that a sidecar's name stands for, None when the name or the content is not a sidecar's."""
    match = _PACK_NAME.fullmatch(sidecar_path.stem)
    if match is None:
        return None
    sidecar = read_json(sidecar_path)
    # a warm-start list lies beside the packs under a similar name, and is no sidecar (d.1)
    if sidecar.state is FileState.FOUND and (sidecar.get("slot_bytes") is None or sidecar.get("layers") is None):
        return None
    server = ServerVersion.V2 if match["key"] else ServerVersion.V1
    return PackFile(sidecar_path, sidecar, match["tag"], server, int(match["world"]), int(match["rank"]))


def find_caches(root: Path) -> list[CacheFolder]:
    """Every rank's folder below a cache's root, v1 and v2; raises OSError for an unreadable folder."""
    return [found for folder in _rank_folders(root) if (found := describe_cache(folder))]


def describe_cache(folder: Path) -> CacheFolder | None:
    """A rank's folder, None when its name is not one's."""
    match = _RANK_NAME.fullmatch(folder.name)
    if match is None:
        return None
    server = ServerVersion.V2 if folder.parent.parent.name == "v2" else ServerVersion.V1
    return CacheFolder(folder, read_json(folder / META_NAME), server, int(match["world"]), int(match["rank"]))


def _rank_folders(root: Path) -> Iterator[Path]:
    yield from _folders(root)
    if (root / "v2").is_dir():
        for key in _folders(root / "v2"):
            yield from _folders(key)


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir() and ".tmp" not in path.name)
