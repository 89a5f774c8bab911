"""System calls that signals interrupt (EINTR): Python repeats them, and no byte is lost on the way."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.planes.build import build_planes
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from tests.planes.test_build import CHECKPOINT, GOLDEN_BYTES

EVERY_S = 0.0005


@pytest.fixture
def interrupted() -> Iterator[list[int]]:
    """A signal every half millisecond, whose handler returns; the signals that arrived."""
    arrived: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: arrived.append(number))
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    yield arrived
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_build_and_a_verification_under_a_rain_of_signals(tmp_path: Path, interrupted: list[int]) -> None:
    out = tmp_path / "planes.moet2pf"
    build_planes(
        CHECKPOINT,
        out,
        repo="golden/tiny-checkpoint",
        revision="0123456789abcdef0123456789abcdef01234567",
        threads=2,
    )
    assert out.read_bytes() == GOLDEN_BYTES
    assert verify_file(out, VerifyOptions(mode=VerifyMode.FULL)).ok
    assert len(interrupted) > 3
