"""The nearest known name, for errors about a name that does not exist."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name` (case and dashes aside), or None when none comes close."""
    plain = {_plain(candidate): candidate for candidate in known}
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """`did you mean X?`, or `otherwise`."""
    found = nearest(name, known)
    return f"did you mean {found}?" if found else otherwise


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").strip("_")
