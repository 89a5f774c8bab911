"""Relief: drop the clean page cache and compact memory, so that the driver finds free pages.

Source: field notes on unified memory, section 4.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from moet_boot.guard.aside import Aside

_KNOBS = (("drop_caches", b"3\n"), ("compact_memory", b"1\n"))


@dataclass(frozen=True)
class Relieved:
    """What one relief did: seconds that it took, and what the kernel refused, in words."""

    seconds: float
    refused: str = ""


class Relief:
    """Writes the kernel's two knobs, opened beforehand, in a thread: either write may take seconds."""

    def __init__(
        self,
        aside: Aside,
        vm: Path = Path("/proc/sys/vm"),
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self._aside = aside
        self._write = write
        self._knobs: list[tuple[str, int, bytes]] = []
        self._done: Relieved | None = None
        self.impossible = ""
        for name, value in _KNOBS:
            try:
                self._knobs.append((name, os.open(vm / name, os.O_WRONLY | os.O_CLOEXEC), value))
            except OSError as error:
                self.impossible = self.impossible or f"{vm / name}: {error.strerror}"

    @property
    def possible(self) -> bool:
        """Whether the cache can be dropped; without compaction relief is still worth having."""
        return any(name == "drop_caches" for name, _, _ in self._knobs)

    def start(self) -> bool:
        """Begin; False when it may not be done or the last one is still running."""
        return self.possible and self._aside.ask(self._relieve)

    def finished(self) -> Relieved | None:
        """The relief that has ended since the last call, if any."""
        done, self._done = self._done, None
        return done

    def close(self) -> None:
        """Close the files."""
        for _, fd, _ in self._knobs:
            os.close(fd)
        self._knobs = []

    def _relieve(self) -> None:
        began = time.monotonic()
        refused = ""
        for name, fd, value in self._knobs:
            try:
                self._write(fd, value)
            except OSError as error:
                refused = refused or f"{name}: {error.strerror}"
        self._done = Relieved(time.monotonic() - began, refused)
