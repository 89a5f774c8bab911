"""Run `moet-boot profiles ...` as a person would, and take apart what it says."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from moet_boot.cli.main import run


@dataclass(frozen=True)
class Said:
    """Exit code, data and talk of one command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def words(self) -> str:
        """What is on stdout, on one line: tables wrap."""
        return " ".join(self.out.split())


def profiles(capsys: pytest.CaptureFixture[str], *argv: str) -> Said:
    """`moet-boot profiles` with these arguments."""
    capsys.readouterr()
    code = run(["profiles", *argv])
    out, err = capsys.readouterr()
    return Said(code, out, err)
