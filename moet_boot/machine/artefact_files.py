"""The artefacts that are no checkpoint: plane files, planes caches, pack stores."""

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from moet_boot.errors import MoetBootError
from moet_boot.machine.facts.storage import FileFacts
from moet_boot.machine.shards import LFS_MAX_BYTES
from moet_boot.machine.stores import StoreSummary
from moet_boot.machine.tree import file_kind
from moet_boot.planes.moet2pf_read import FileFormat, HeaderFacts, read_header_facts

MAX_FILES = 100_000


def read_plane_file(name: str, path: str) -> FileFacts:
    """What the header and size of a plane file say; a tiny file shows its first line. Raises OSError."""
    kind = file_kind(Path(path))
    if kind is None:
        return FileFacts(name=name, path=path, exists=False)
    if not S_ISREG(kind):
        what = "a folder" if S_ISDIR(kind) else "no regular file"
        return FileFacts(name=name, path=path, dir=S_ISDIR(kind), problems=[f"{path} is {what}, expected a plane file"])
    try:
        return describe(name, path, read_header_facts(Path(path)))
    except MoetBootError as failure:
        return FileFacts(name=name, path=path, header_ok=False, problems=[failure.what])


def describe(name: str, path: str, header: HeaderFacts) -> FileFacts:
    """A plane file in the snapshot's words. A foreign header is not ours to judge: `header_ok` stays open."""
    own = header.format is FileFormat.OWN
    return FileFacts(
        name=name,
        path=path,
        size=header.size,
        head=_first_line(Path(path)) if header.size <= LFS_MAX_BYTES else None,
        pinned_revision=header.revision,
        header_ok=None if header.format is FileFormat.FOREIGN else own and not header.problems,
        format=header.format.value,
        problems=list(header.problems),
    )


def read_store(name: str, path: str) -> FileFacts:
    """Whether a cache's or store's folder is there, and its size. Raises OSError."""
    kind = file_kind(Path(path))
    if kind is None:
        return FileFacts(name=name, path=path, exists=False, dir=True, complete=False)
    if not S_ISDIR(kind):
        return FileFacts(name=name, path=path, complete=False, problems=[f"{path} is a file, expected a folder"])
    return FileFacts(name=name, path=path, size=sum(_sizes(Path(path))), dir=True)


def with_layers(facts: FileFacts, summary: StoreSummary | None) -> FileFacts:
    """The facts of a store with what the server will find in it."""
    if summary is None or not facts.exists:
        return facts
    return facts.model_copy(
        update={
            "complete": summary.present == summary.expected,
            "layers_present": summary.present,
            "layers_expected": summary.expected,
            "problems": [*facts.problems, *summary.problems],
        }
    )


def _sizes(folder: Path) -> Iterator[int]:
    """Apparent sizes of the files below a folder, links not followed."""
    seen = 0
    for parent, _, names in os.walk(folder):
        for name in names[: MAX_FILES - seen]:
            seen += 1
            yield (Path(parent) / name).lstat().st_size


def _first_line(path: Path) -> str | None:
    line = path.read_bytes()[:LFS_MAX_BYTES].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return line if line.isprintable() and line else None
