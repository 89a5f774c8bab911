"""Which repository and revision a checkpoint's folder was downloaded from, where it tells."""

import re
from dataclasses import dataclass
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SMALL = 4096

UNFINISHED = (".incomplete", ".aria2", ".part")
"""What the Hub's client and common download programs leave beside or instead of a file."""


@dataclass(frozen=True)
class Origin:
    """What a folder says of itself. More than one revision means that its files do not belong together."""

    repo: str | None = None
    revisions: tuple[str, ...] = ()


def find_origin(folder: Path) -> Origin:
    """By the Hub's cache layout, else by the metadata of a `--local-dir` download, else by a Git clone."""
    parts = folder.parts
    if len(parts) > 2 and parts[-2] == "snapshots" and parts[-3].startswith("models--"):  # noqa: PLR2004
        revision = (parts[-1],) if _COMMIT.fullmatch(parts[-1]) else ()
        return Origin(parts[-3].removeprefix("models--").replace("--", "/"), revision)
    downloaded = _local_dir_revisions(folder / ".cache" / "huggingface" / "download")
    return Origin(revisions=downloaded or _git_revision(folder / ".git"))


def incomplete_downloads(folder: Path) -> int:
    """Pieces that a download left behind, in the folder and in the Hub's caches beside it."""
    local = folder / ".cache" / "huggingface" / "download"
    blobs = folder.parent.parent / "blobs"
    places = [folder, local] + ([blobs] if folder.parent.name == "snapshots" else [])
    return sum(len(list(place.glob(f"*{ending}"))) for place in places for ending in UNFINISHED)


def _local_dir_revisions(downloads: Path) -> tuple[str, ...]:
    """The first line of each metadata file is the commit (huggingface_hub: _local_folder.py)."""
    lines = (_first_line(path) for path in sorted(downloads.glob("*.metadata")))
    return tuple(dict.fromkeys(line for line in lines if _COMMIT.fullmatch(line)))


def _git_revision(git: Path) -> tuple[str, ...]:
    head = _first_line(git / "HEAD")
    commit = _first_line(git / head.removeprefix("ref: ")) if head.startswith("ref: ") else head
    return (commit,) if _COMMIT.fullmatch(commit) else ()


def _first_line(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            return stream.read(_SMALL).split(b"\n", 1)[0].decode("ascii", "replace").strip()
    except OSError:
        return ""
