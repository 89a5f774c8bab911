"""Reading a receipt later: what a moet-boot that was killed could not write any more."""

from collections.abc import Sequence
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import read_spool
from moet_boot.receipts.curve import extended
from moet_boot.receipts.model import CurvePoint, Receipt
from moet_boot.supervise.journal import CURVE_POINTS
from moet_boot.supervise.status import is_same_process, process_start

SPOOL = "samples-{attempt}.spool"
"""The guard's samples of one attempt, beside the receipt; attempts count from 1."""


def spool_path(folder: Path, attempt: int) -> Path:
    """Where the guard keeps the samples of one attempt."""
    return folder / SPOOL.format(attempt=attempt)


def curve_points(samples: Sequence[Sample]) -> list[CurvePoint]:
    """The guard's samples as a curve; samples without MemAvailable say nothing."""
    return [
        CurvePoint(
            t_s=s.t_s,
            available_bytes=s.available,
            free_bytes=s.free or 0,
            swap_used_bytes=s.swap_used or 0,
            psi_full_pct=s.psi_full_avg10 or 0.0,
        )
        for s in samples
        if s.available is not None
    ]


def outcome_now(receipt: Receipt) -> str:
    """The outcome; a receipt that says `running` although its supervisor is gone was `killed`."""
    if receipt.outcome != "running":
        return receipt.outcome
    pid, start = receipt.supervisor_pid, receipt.supervisor_start
    alive = process_start(pid) is not None if start is None else is_same_process(pid, start)
    return "running" if alive else "killed"


def truthful(receipt: Receipt, folder: Path) -> Receipt:
    """The receipt with the curves that only the guard's spool still has."""
    for number, attempt in enumerate(receipt.attempts, 1):
        if attempt.ended_after_s is None and spool_path(folder, number).exists():
            try:
                points = curve_points(read_spool(spool_path(folder, number)))
            except MoetBootError:
                continue
            attempt.curve = extended(attempt.curve, points, CURVE_POINTS)
            lows = [p.available_bytes for p in [*attempt.curve, *points]]
            attempt.lowest_available_bytes = min(lows, default=attempt.lowest_available_bytes)
    return receipt
