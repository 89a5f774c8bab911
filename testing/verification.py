"""What the tests of verification share: options, readings of a report, ways to damage a file."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from moet_boot.planes.checkpoint import read_identity
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions, VerifyReport
from testing.golden import GOLDEN, golden_json
from testing.plane_file import (
    TINY,
)

BODY, STRIDE = 8192, TINY.slot_stride
EXPECTED = golden_json("vii_moet2pf/expected.json")
ORIGIN = read_identity(GOLDEN / "iv_ckpt")
FULL = VerifyOptions(mode=VerifyMode.FULL, threads=2)


def punch_hole(path: Path, start: int, size: int) -> None:
    """Make a part of a file a hole by writing it anew around the gap."""
    data = path.read_bytes()
    path.unlink()
    with path.open("wb") as file:
        file.write(data[:start])
        file.seek(start + size)
        file.write(data[start + size :])
        file.truncate(len(data))


def bad(report: VerifyReport) -> dict[int, str]:
    return {slot.slot: slot.reason for slot in report.findings.bad}


def failing_reads(monkeypatch: pytest.MonkeyPatch, start: int, end: int) -> None:
    """The disk answers EIO for part of every file."""
    whole = os.preadv

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        if offset < end and offset + sum(map(len, buffers)) > start:
            raise OSError(errno.EIO, "Input/output error")
        return whole(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", preadv)
