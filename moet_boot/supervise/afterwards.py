"""Reading a receipt later: what a moet-boot that was killed could not write any more."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import read_spool
from moet_boot.receipts.curve import extended
from moet_boot.receipts.model import CurvePoint, Receipt
from moet_boot.supervise.breaker import PastFailure
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


def killed_boots(receipts: Sequence[Receipt], plan_digest: str) -> list[PastFailure]:
    """Boots of a plan whose moet-boot was killed before the server was ready, since the last one that became ready.

    A machine that froze and was switched off looks the same, and a service manager would let it freeze again.
    `receipts`: oldest first.
    """
    found: list[PastFailure] = []
    for receipt in reversed([r for r in receipts if r.plan.digest == plan_digest and r.attempts]):
        if any(attempt.ready_after_s is not None for attempt in receipt.attempts):
            break
        if outcome_now(receipt) == "killed":
            phases = receipt.attempts[-1].phases
            where = f" in the phase '{phases[-1].phase.words}'" if phases else ""
            words = f"moet-boot was killed, or the machine went down,{where} (receipt {receipt.id})"
            found.append(PastFailure(_seconds(receipt.created_at), "killed", words))
    return found


def _seconds(iso: str) -> float:
    """Since the epoch; a time that cannot be read is long ago."""
    try:
        return datetime.fromisoformat(iso).timestamp()
    except ValueError:
        return 0.0


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
