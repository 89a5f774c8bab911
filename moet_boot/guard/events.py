"""The guard's diary: one line of JSON for each event, in a file opened beforehand, and to whoever listens."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.guard.messages import GuardEvent, Line


class Diary:
    """Writes events through `write` (os.write, or a pen that nobody waits for), and tells them to whoever listens."""

    def __init__(self, path: Path, line: Line | None = None, write: Callable[[int, bytes], object] = os.write) -> None:
        self._line = line
        self._write = write
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise MoetBootError(
                f"cannot write the guard's events to {path}: {error.strerror}", fix="choose another folder"
            ) from error

    def note(self, event: GuardEvent) -> None:
        """Tell and write one event."""
        self.tell(event)
        self._write(self._fd, json.dumps(asdict(event)).encode() + b"\n")

    def tell(self, event: GuardEvent) -> None:
        """Only tell it: about a disk that does not take what is written."""
        if self._line is not None:
            self._line.say(event=asdict(event))

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def read_events(path: Path) -> list[GuardEvent]:
    """The events of a diary, oldest first; a last line that was cut off is left out. Empty if there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return list(_events(text))


def _events(text: str) -> Iterator[GuardEvent]:
    for line in text.splitlines():
        try:
            words = json.loads(line)
            yield GuardEvent(float(words["at_s"]), str(words["action"]), str(words["reason"]))
        except (ValueError, KeyError, TypeError):
            continue
