"""Finding and reading profile files: shipped ones by name, anybody's by path."""

import os
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moet_boot.profile.nearest import did_you_mean
from moet_boot.profile.problem import Problem, ProfileError
from moet_boot.units import MIB, format_bytes

MAX_BYTES = MIB
"""Far above any profile; a 1 GiB file given by mistake must not be read."""

_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)")

Raw = dict[str, Any]
"""A TOML table as it was read; it does not leave the loader."""


def shipped_folder() -> Path:
    """Where the shipped profiles are: inside the package of a wheel, beside it in a source tree."""
    package = Path(__file__).parents[1]
    inside = package / "shipped_profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


def shipped_names() -> list[str]:
    """Names of the shipped profiles, sorted."""
    return sorted(path.stem for path in shipped_folder().glob("*.toml"))


def is_path(name_or_path: str) -> bool:
    """Whether this is meant as a path: it has a slash or ends in .toml."""
    return "/" in name_or_path or name_or_path.endswith(".toml")


def locate(name_or_path: str, beside: Path | None = None) -> Path:
    """The file of a profile; a relative path counts from `beside` (the folder of the file that names it)."""
    if is_path(name_or_path):
        path = expanded(name_or_path)
        return path if beside is None else beside / path
    names = shipped_names()
    if name_or_path in names:
        return shipped_folder() / f"{name_or_path}.toml"
    known = f"shipped are {', '.join(names)}; a file of your own is given as a path ending in .toml"
    hint = did_you_mean(name_or_path, names)
    raise ProfileError([Problem(repr(name_or_path), "", "no such profile", f"{hint} {known}".strip())])


def expanded(path: str) -> Path:
    """The path with `~` replaced; one of a user who does not exist stays as it is, and then does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


@dataclass(frozen=True)
class TomlFile:
    """One file as it was read: `shown` is how messages call it."""

    shown: str
    text: str
    tables: Raw


def read_toml(path: Path, shown: str, expected: str = "a profile") -> TomlFile:
    """Read a TOML file.

    Raises ProfileError that names the file, and the line where the syntax is broken; a missing file, a
    folder, a device, an empty or oversized file and bytes that are no UTF-8 are told apart.
    """
    text = _read_text(path, shown, expected)
    if not text.strip():
        raise _failure(shown, "the file is empty", f"it must be {expected} in TOML; see `moet-boot profiles show`")
    try:
        return TomlFile(shown, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        what = f"not valid TOML: {_AT_LINE.sub('', str(error))}"
        raise _failure(shown, what, "correct the syntax at that line", int(found[1]) if found else None) from None
    except RecursionError:
        raise _failure(shown, "not valid TOML: nested too deeply", f"it must be {expected}") from None
    except ValueError:
        # Python reads no whole number of more than 4300 digits, and does not say where it stands
        what, fix = "a number in it has thousands of digits", "write a number that a setting can have"
        raise _failure(shown, what, fix) from None


def _read_text(path: Path, shown: str, expected: str) -> str:
    fix = f"give the path of {expected} (a TOML file)"
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            kind = "a folder" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise _failure(shown, f"is {kind}", fix)
        if info.st_size > MAX_BYTES:
            what = f"is {format_bytes(info.st_size)} large, {expected} has at most {format_bytes(MAX_BYTES)}"
            raise _failure(shown, what, fix)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _failure(shown, "not UTF-8 text", "save it as UTF-8", line) from None
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise _failure(shown, reason[:1].lower() + reason[1:], fix) from None


def _failure(shown: str, what: str, fix: str, line: int | None = None) -> ProfileError:
    return ProfileError([Problem(shown, "", what, fix, line)])
