"""A file as the hub lists it, and the digest of a file on the disk to compare it with."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from moet_boot.planes.direct_io import DirectReader, unreadable
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.whole_file import whole_file_sha256

SHA256_DIGITS = 64


@dataclass(frozen=True)
class HubFile:
    """`etag`: the sha256 of a large file (Git LFS), the Git blob id of a small one."""

    path: str
    size: int
    etag: str

    @property
    def large(self) -> bool:
        """Whether it is stored outside of Git."""
        return len(self.etag) == SHA256_DIGITS

    def digest_of(self, path: Path, on_progress: Progress = no_progress) -> str:
        """The digest of a local file, of the kind that `etag` is; a large file is read past the page cache.

        Raises the artefact errors for a file that cannot be read.
        """
        try:
            if not self.large:
                content = path.read_bytes()
                return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            with DirectReader(path) as reader:
                return whole_file_sha256(reader, on_progress=on_progress)
        except OSError as error:
            raise unreadable(path, error) from error
