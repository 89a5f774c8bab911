"""A machine's files below a temporary folder."""

from collections.abc import Mapping
from pathlib import Path

from moet_boot.machine.tree import Tree


def tree_of(folder: Path, files: Mapping[str, str | bytes]) -> Tree:
    """A tree with these files, by their absolute names."""
    for name, content in files.items():
        file = folder / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Tree(folder)
