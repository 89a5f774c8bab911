"""From a path inside the server's container to the same folder on this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from moet_boot.errors import UsageError


@dataclass(frozen=True)
class PathMap:
    """Mounts as (container path, host path). Without any mount the server sees this machine's own paths."""

    mounts: tuple[tuple[PurePosixPath, Path], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Read `CONTAINER=HOST` texts; raises UsageError for anything else."""
        return cls(tuple(_parse_mount(text) for text in texts))

    def host(self, path: str) -> Path | None:
        """Where a path of the server lies here, None when no mount covers it. The longest mount wins."""
        if not self.mounts:
            return Path(path)
        wanted = PurePosixPath(path)
        covering = [(inside, outside) for inside, outside in self.mounts if wanted.is_relative_to(inside)]
        if not covering:
            return None
        inside, outside = max(covering, key=lambda mount: len(mount[0].parts))
        return outside / wanted.relative_to(inside)


def _parse_mount(text: str) -> tuple[PurePosixPath, Path]:
    inside, equals, outside = text.partition("=")
    if not equals or not inside.startswith("/") or not outside:
        raise UsageError(
            f"a mount is written CONTAINER=HOST with an absolute container path, got {text!r}",
            fix="for example --map /planescache=/data/planescache",
        )
    return PurePosixPath(inside), Path(outside)
