"""Does the server's parser take this command line? Pure, against the dumped catalogue of vLLM's flags.

It follows argparse and vLLM's additions to it (utils/argparse_utils.py of 0.32): `--x=y`, underscores for dashes,
unique prefixes, `--no-x`, negative numbers as values, `--json-flag.key value`, `-O3`. What the real parser does not
catch either (unknown parser names, `--block-size 7`) is not caught here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from moet_boot.profile.nearest import nearest
from moet_boot.profile.vllm_flags import ServerFlag, catalogue_version, server_flags

_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")
_NULLS = {"", "None"}


@dataclass(frozen=True)
class ArgumentFault:
    """One argument that the server would refuse. `nearest` is a known flag that may have been meant."""

    argument: str
    problem: str
    nearest: str | None = None

    @property
    def words(self) -> str:
        """One line for a finding."""
        return f"{self.argument}: {self.problem}" + (f", did you mean {self.nearest}?" if self.nearest else "")


def argument_faults(argv: Sequence[str], version: str | None = None) -> list[ArgumentFault]:
    """Everything that the parser would refuse in the arguments behind `vllm serve`, the first first.

    `version` of vLLM: its own release line is asked where moet-boot has a copy of its parser, else the newest.
    """
    return list(_Reader(argv, _flags_by_name(catalogue_version(version))).faults())


class _Reader:
    """Walks a command line the way argparse does."""

    def __init__(self, argv: Sequence[str], known: Mapping[str, ServerFlag]) -> None:
        self._words = list(argv)
        self._known = known
        self._positionals = 0

    def faults(self) -> Iterator[ArgumentFault]:
        while self._words:
            word = self._words.pop(0)
            fault = self._option(word) if is_option(word) else self._positional(word)
            if fault:
                yield fault

    def _positional(self, word: str) -> ArgumentFault | None:
        self._positionals += 1
        if self._positionals == 1:
            return None
        return ArgumentFault(word, "the server takes one model and no other word without a flag")

    def _option(self, word: str) -> ArgumentFault | None:
        if word.startswith("-O"):
            word = f"--optimization-level={word[2:].lstrip('=')}" if word != "-O" else "--optimization-level"
        name, has_value, value = word.partition("=")
        name, dot, _ = name.partition(".")
        names = self._matches(_dashed(name))
        if len(names) != 1:
            return self._unknown(name, names)
        flag = self._known[names[0]]
        if dot:
            return self._dotted(name, flag, value if has_value else None)
        return self._with_value(name, flag, value if has_value else None)

    def _dotted(self, name: str, flag: ServerFlag, value: str | None) -> ArgumentFault | None:
        """`--flag.key value`: the server makes a JSON document of all of them."""
        if flag.kind not in {"json", "str"}:
            return ArgumentFault(name, f"takes no keys with a dot (it is of kind {flag.kind})")
        if value is None and not self._words:
            return ArgumentFault(name, "expected one argument")
        if value is None:
            self._words.pop(0)
        return None

    def _with_value(self, name: str, flag: ServerFlag, value: str | None) -> ArgumentFault | None:
        if flag.kind == "bool":
            return ArgumentFault(name, f"is a switch and takes no value ({value!r})") if value is not None else None
        values = [value] if value is not None else self._take(many=flag.kind == "list")
        if not values:
            return None if flag.optional else ArgumentFault(name, "expected a value")
        for text in values:
            problem = _problem(flag, text)
            if problem:
                return ArgumentFault(f"{name} {text}"[:200], problem)
        return None

    def _take(self, *, many: bool) -> list[str]:
        taken: list[str] = []
        while self._words and not is_option(self._words[0]) and (many or not taken):
            taken.append(self._words.pop(0))
        return taken

    def _matches(self, name: str) -> list[str]:
        """The flags that a name stands for: itself, or those it is a prefix of."""
        if name in self._known or not name.startswith("--"):
            return [name] if name in self._known else []
        return sorted(full for full in self._known if full.startswith(name))

    def _unknown(self, name: str, matches: list[str]) -> ArgumentFault:
        if matches:
            return ArgumentFault(name, f"is short for several flags: {', '.join(matches[:4])}")
        return ArgumentFault(name, "no such flag of the server", nearest(name, self._known))


def _problem(flag: ServerFlag, text: str) -> str | None:
    if flag.nullable and text in _NULLS:
        return None
    item = flag.model_copy(update={"kind": flag.item}) if flag.item else flag
    try:
        item.read(text)
    except ValueError as error:
        return str(error)
    return None


def is_option(word: str) -> bool:
    """Whether argparse takes a word for a flag: no lone dash, no negative number, no blank in the name."""
    name = word.partition("=")[0]
    return len(word) > 1 and word.startswith("-") and not _NEGATIVE_NUMBER.match(word) and " " not in name


def _dashed(name: str) -> str:
    return f"--{name[2:].replace('_', '-')}" if name.startswith("--") else name


@cache
def _flags_by_name(version: str) -> Mapping[str, ServerFlag]:
    """All spellings that the parser of this version knows."""
    names: dict[str, ServerFlag] = {}
    for name, flag in server_flags(version).items():
        names |= dict.fromkeys((name, *flag.aliases), flag)
        if flag.negatable:
            names[f"--no-{name.removeprefix('--')}"] = flag
    return names
