"""Words of a command line as a shell reads them back, fit to be shown on a terminal. Pure."""

import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    """The words as one command for a shell."""
    return " ".join(shell_word(word) for word in words)


def shell_word(word: str) -> str:
    """One word. With control characters in it, as `$'...'` of bash and zsh: a terminal would obey or change them."""
    if word.replace("\n", "").isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_escaped(char) for char in word) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
