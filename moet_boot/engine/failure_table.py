"""The table of known failure texts (`failures.toml`), typed. A wrong row is found when the table is loaded."""

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any


class FailureClass(StrEnum):
    """What kind of thing went wrong (design section 7): it decides about restarts."""

    USAGE = "usage"
    ARTEFACT = "artefact"
    MEMORY = "memory"
    PORT = "port"
    DEVICE = "device"
    ENGINE_CRASH = "engine_crash"
    HANG = "hang"
    UNKNOWN = "unknown"


class Basis(StrEnum):
    """How a row is known: from a run of the real engine, or only from reading."""

    RAN = "ran"
    READ = "read"


@dataclass(frozen=True)
class Known:
    """One known text. `general` rows only count when no other row matches anywhere in the log."""

    pattern: re.Pattern[str]
    kind: FailureClass
    cause: str
    remedy: str
    basis: Basis
    general: bool

    def explain(self, match: re.Match[str]) -> str:
        """The cause in words, filled with what the log says."""
        return self.cause.format(**match.groupdict(default=""))


@cache
def known_failures() -> tuple[Known, ...]:
    """All rows, in the order of the file."""
    text = files("moet_boot.engine").joinpath("failures.toml").read_text(encoding="utf-8")
    return tuple(_known(row) for row in tomllib.loads(text)["known"])


def _known(row: dict[str, Any]) -> Known:
    return Known(
        pattern=re.compile(row["pattern"]),
        kind=FailureClass(row["class"]),
        cause=row["cause"],
        remedy=row["remedy"],
        basis=Basis(row["basis"]),
        general=row.get("general", False),
    )
