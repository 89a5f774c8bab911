"""One way to write planes into any container, so that its name stands for all of it or for nothing."""

import os
from pathlib import Path
from typing import Protocol

from moet_boot.errors import UsageError
from moet_boot.planes.direct_write import unwritable
from moet_boot.planes.slot_source import Sections

TEMPORARY = ".tmp-moet-boot"
"""The server ignores names with `.tmp` (planes.md d.1)."""


class SlotTarget(Protocol):
    """A container in the making. Slots come layer by layer, experts in order.

    `needs` are the sections of a slot it takes, `bytes_to_write` what it will hold. Its methods raise
    MoetBootError when the disk refuses. The order is: claim, start, put..., seal, publish; or discard after start.
    """

    needs: tuple[str, ...]
    bytes_to_write: int

    def claim(self) -> None:
        """Undo an interrupted replacement; raise UsageError when something is there that would be lost."""

    def start(self) -> None:
        """Open temporary files."""

    def put(self, layer: int, expert: int, sections: Sections) -> None:
        """Add one slot."""

    def seal(self) -> None:
        """Finish the temporary files and make them durable."""

    def publish(self) -> list[Path]:
        """Give everything its final name, in an order in which a crash leaves nothing that a server trusts."""

    def discard(self) -> None:
        """Remove what is temporary."""


def write_small(path: Path, text: str) -> None:
    """Write a small file whole: temporary name, fsync, rename; raises MoetBootError."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def already_there(path: Path) -> UsageError:
    """The refusal to touch something that exists."""
    return UsageError(f"{path} exists already", fix="move it away, choose another --out, or replace it with --force")
