"""On which line of a TOML text a key stands: the parser does not say."""

import tomllib
from collections.abc import Mapping

_QUOTES = ('"""', "'''")


def line_of(text: str, location: tuple[str, ...]) -> int | None:
    """The line (from 1) of the key, or of the table that is nearest to it; None for a key that is not there."""
    table: tuple[str, ...] = ()
    best, length = None, 0
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if inside:
            inside = "" if inside in stripped else inside
            continue
        if stripped.startswith("["):
            table = found = _path(stripped)
        else:
            found = (*table, *_path(stripped.partition("=")[0] + "=0")) if "=" in stripped else ()
            inside = next((q for q in _QUOTES if stripped.count(q) == 1), "")
        if found and found == location[: len(found)] and len(found) > length:
            best, length = number, len(found)
    return best


def _path(text: str) -> tuple[str, ...]:
    """The keys of one header or one assignment, outermost first; empty when the line alone is no TOML."""
    try:
        here: object = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()
    path: list[str] = []
    while isinstance(here, Mapping) and here:
        key, here = next(iter(here.items()))
        path.append(key)
        here = here[0] if isinstance(here, list) and here else here
    return tuple(path)
