"""Where a file of the hub goes on this machine, and the records of its download.

The records have the layout of the hub's own client for a local folder (huggingface_hub: _local_folder.py), so that
it, and the reader of a checkpoint's revision, understand what lies here.
"""

import glob
import os
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from moet_boot.fetch.hub_file import HubFile
from moet_boot.planes.direct_io import unreadable
from moet_boot.planes.direct_write import sync_folder, writing

RECORDS = Path(".cache") / "huggingface" / "download"


@dataclass(frozen=True)
class Place:
    """One file: `target` is where it belongs, `folder` where the records of its download are."""

    file: HubFile
    target: Path
    folder: Path

    @property
    def part(self) -> Path:
        """The unfinished file: of this very content, so that another revision never goes on with it."""
        return self.folder / f"{self._name}.{self.file.etag}.incomplete"

    @property
    def there(self) -> bool:
        """Whether something of the right size is in place. Raises the artefact errors where that cannot be seen."""
        try:
            return self.target.is_file() and self.target.stat().st_size == self.file.size
        except OSError as error:
            raise unreadable(self.target, error) from error

    def prepare(self) -> None:
        """Make the folders. Raises MoetBootError."""
        with writing(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.part.parent.mkdir(parents=True, exist_ok=True)

    def put(self) -> Path | None:
        """Move the finished file into its place. Raises MoetBootError.

        Returns where an older small file went: somebody may have edited it.
        """
        with writing(self.target):
            older = None if self.file.large or not self.target.exists() else self._aside()
            self.part.replace(self.target)
            sync_folder(self.target.parent)
            for stale in self.folder.glob(f"{glob.escape(self._name)}.*.incomplete"):
                stale.unlink()
        return older

    def record(self, commit: str) -> None:
        """Write down which commit the file in place is of. Raises MoetBootError."""
        with writing(self.target):
            self.part.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f"{self._name}.{os.getpid()}.tmp"
            temporary.write_text(f"{commit}\n{self.file.etag}\n{time.time()}\n")
            temporary.replace(self.folder / f"{self._name}.metadata")

    @property
    def _name(self) -> str:
        return self.file.path.rpartition("/")[2]

    def _aside(self) -> Path:
        names = (self.target.with_name(f"{self.target.name}.replaced-{number}") for number in count(1))
        older = next(name for name in names if not name.exists())
        self.target.replace(older)
        return older


def place_of(file: HubFile, target: Path, root: Path) -> Place:
    """The place of a file whose records are below `root`."""
    return Place(file, target, (root / RECORDS / file.path).parent)
