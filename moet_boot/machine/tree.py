"""The files of /proc, /sys and /etc below a root, so that a recorded machine can stand in for this one."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from moet_boot.units import KIB, MIB

MAX_TEXT = 4 * MIB
"""No file that is read here comes near this size; one that does is not what it seems."""

CHUNK = 64 * KIB
"""The kernel answers ENOMEM to a larger read of a file below /proc/sys (proc_sys_call_handler)."""


class UnreadError(Exception):
    """Why a group of facts could not be read, in words for the snapshot's `errors`."""


@dataclass(frozen=True)
class Tree:
    """A file system tree: the machine's own, or a recorded one."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """Where `/proc/meminfo` and the like lie in this tree."""
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str:
        """The content of a small text file, without surrounding blanks. Raises OSError."""
        with self.path(name).open("rb", buffering=0) as stream:
            chunks = islice(iter(lambda: stream.read(CHUNK), b""), MAX_TEXT // CHUNK)
            return b"".join(chunks).decode("utf-8", "replace").strip()

    def text_or_none(self, name: str) -> str | None:
        """The same, None if it cannot be read."""
        try:
            return self.text(name)
        except OSError:
            return None


def file_kind(path: Path) -> int | None:
    """The mode of what lies at a path (symbolic links followed), None if nothing does. Raises OSError."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def unescape(name: str) -> str:
    r"""A path as /proc/mounts and /proc/swaps print it: `\040` is a blank, `\134` a backslash."""
    parts = name.split("\\")
    decoded = [parts[0]]
    for part in parts[1:]:
        code = part[:3]
        is_octal = len(code) == 3 and all(digit in "01234567" for digit in code)  # noqa: PLR2004
        decoded.append(chr(int(code, 8)) + part[3:] if is_octal else "\\" + part)
    return "".join(decoded)
