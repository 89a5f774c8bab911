"""What one environment variable of the server looks like, and when a value is not what was meant."""

import math
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
    the main branch differs. `servers` are the versions that read it. Source: planes.md g.5.
    """

    name: str
    default: str | None
    kind: KnobKind
    meaning: str
    servers: frozenset[ServerVersion]
    choices: tuple[str, ...] = ()
    default_v2: str | None = None

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
                return ""


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
