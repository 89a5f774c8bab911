"""What one environment variable of the server looks like, and when a value is not what was meant."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from moet_boot.planes.server_version import ServerVersion

PREFIX = "VLLM_MOE_W2"


class KnobKind(StrEnum):
    """How the server reads a knob's text."""

    SWITCH = "0 or 1"
    INTEGER = "a whole number"
    NUMBER = "a number"
    GIB = "a number of GiB"
    GIB_OR_AUTO = "a number of GiB, or auto"
    TEXT = "text"
    CHOICE = "one of a list"


@dataclass(frozen=True)
class Knob:
    """One environment variable of the server.

    `default` is the text that the server assumes (None: unset, or decided elsewhere), `default_v2` where
    the main branch differs. `servers` are the versions that read it. `form` is what a text must look like, and
    in words; `least_v2` the smallest whole number that a v2 server boots with. Source: planes.md g.5.
    """

    name: str
    default: str | None
    kind: KnobKind
    meaning: str
    servers: frozenset[ServerVersion]
    choices: tuple[str, ...] = ()
    default_v2: str | None = None
    form: tuple[str, str] | None = None
    least_v2: int | None = None
    obsolete: bool = False

    def default_for(self, server: ServerVersion) -> str | None:
        """The text that this server assumes when the variable is unset."""
        return self.default_v2 if server is ServerVersion.V2 and self.default_v2 is not None else self.default

    def problem(self, value: str) -> str:
        """Why the server would not read `value` as it was meant, or an empty string."""
        match self.kind:
            case KnobKind.SWITCH:
                return "" if value in {"0", "1"} else "the server reads everything but exactly 1 as off: write 0 or 1"
            case KnobKind.INTEGER:
                return "" if _is_integer(value) else "it must be a whole number"
            case KnobKind.NUMBER | KnobKind.GIB:
                return "" if _is_number(value) else f"it must be {self.kind.value}"
            case KnobKind.GIB_OR_AUTO:
                fine = value in {"auto", "-1", "-1.0"} or _is_number(value)
                return "" if fine else f"it must be {self.kind.value}"
            case KnobKind.CHOICE:
                return "" if value in self.choices else f"it must be one of {', '.join(self.choices)}"
            case KnobKind.TEXT:
                return self._odd_form(value)

    def refused_by(self, server: ServerVersion | None, value: str) -> str:
        """Why a server of this version does not take a value of the right kind, or an empty string."""
        if self.obsolete:
            return "the server logs an error and ignores it: leave it out"
        if server is not ServerVersion.V2 or self.least_v2 is None or int(value) >= self.least_v2:
            return ""
        return f"a v2 server refuses to boot below {self.least_v2}"

    def _odd_form(self, value: str) -> str:
        if self.form is None or re.fullmatch(self.form[0], value):
            return ""
        return f"it must be {self.form[1]}"


def _is_integer(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False
