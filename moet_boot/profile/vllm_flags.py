"""The flags of `vllm serve`: which exist, and which texts each of them takes.

The catalogue is dumped from the real parser (scripts/dump_vllm_flags.py), because importing vLLM takes 10 s.
"""

import json
import math
import re
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from moet_boot.profile.model import SettingValue

_FILES = {"0.32.0": "vllm_flags.json", "0.24.0": "vllm_flags_0.24.json"}
"""Version of vLLM -> the copy of its parser, the newest first."""
_SUFFIXED = re.compile(r"([0-9]+)(\.[0-9]+)?([kKmMgGtT])")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WORDS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class ServerFlag(BaseModel):
    """One flag as the server's parser knows it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["bool", "int", "float", "str", "json", "choice", "list"]
    choices: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    negatable: bool = False
    nullable: bool = False
    suffixes: bool = False
    auto: bool = False
    fold: bool = False
    optional: bool = False
    item: Literal["int", "float", "str", "choice"] | None = None

    def read(self, text: str) -> SettingValue:
        """`text` as a value of this flag; raises ValueError that says what was expected."""
        match self.kind:
            case "bool":
                return _truth(text)
            case "int":
                return self._whole(text)
            case "float":
                return _number(text)
            case "json":
                return _json(text)
            case "choice":
                return self._choice(text)
            case "str" | "list":
                return text

    def _whole(self, text: str) -> SettingValue:
        if self.auto and text.lower() == "auto":
            return "auto"
        if self.suffixes and (found := _SUFFIXED.fullmatch(text)):
            whole, fraction, suffix = found.groups()
            if suffix in _DECIMAL:
                return int(Decimal(whole + (fraction or "")) * _DECIMAL[suffix])
            if not fraction:
                return int(whole) * _BINARY[suffix]
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            return int(text)
        also = ", such as 32768, 32k or 32K" if self.suffixes else ""
        raise ValueError(f"expected a whole number{also}{' or auto' if self.auto else ''}")

    def _choice(self, text: str) -> str:
        choices = self.choices or ()
        if text in choices:
            return text
        folded = {_fold(choice): choice for choice in choices}
        if self.fold and _fold(text) in folded:
            return folded[_fold(text)]
        raise ValueError(f"expected one of {', '.join(choices)}")


def catalogue_version(wanted: str | None = None) -> str:
    """Which copy of the parser stands for a version of vLLM: that of the same release line, else the newest."""
    line = ".".join((wanted or "").split(".")[:2])
    return next((version for version in _FILES if version.startswith(f"{line}.")), next(iter(_FILES)))


@cache
def server_flags(version: str | None = None) -> dict[str, ServerFlag]:
    """Every flag by its long name (`--max-model-len`), of the copy for this version (None: the newest)."""
    text = files("moet_boot.profile").joinpath(_FILES[catalogue_version(version)]).read_text(encoding="utf-8")
    return TypeAdapter(dict[str, ServerFlag]).validate_python(json.loads(text)["flags"])


@cache
def settable_flags(version: str | None = None) -> dict[str, ServerFlag]:
    """Every flag that any copy knows, each as this version reads it where it has it (None: the newest).

    A fork may know more than its release line, so a name of another line can be set; ENGINE.FLAGS speaks of it.
    """
    every: dict[str, ServerFlag] = {}
    for copied in reversed(_FILES):
        every |= server_flags(copied)
    return every | server_flags(catalogue_version(version))


def canonical(name: str) -> tuple[str, bool] | None:
    """The long name of a flag written in any way (`max_num_seqs`, `-tp`), and whether it is its `--no-` form."""
    dashed = "--" + name.lstrip("-").replace("_", "-")
    known = settable_flags()
    if dashed in known:
        return dashed, False
    for flag, facts in known.items():
        if name in facts.aliases or dashed in facts.aliases or f"-{name.lstrip('-')}" in facts.aliases:
            return flag, False
    positive = "--" + dashed.removeprefix("--no-")
    if positive != dashed and positive in known and known[positive].negatable:
        return positive, True
    return None


def _truth(text: str) -> bool:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    raise ValueError("expected true or false")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("expected a number")
    return number


def _json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError('expected JSON, such as {"key": 1}') from None
    return text


def _fold(text: str) -> str:
    return text.lower().replace("-", "_")
