"""What this host measured before: the peaks of earlier boots of the same plan."""

from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.phases import Phase
from moet_boot.receipts.model import Receipt


@dataclass(frozen=True)
class MeasuredPeak:
    """The highest memory that earlier boots held in one phase, in bytes, and the receipt that shows it."""

    phase: Phase
    host_bytes: int
    gpu_bytes: int
    receipt: str


def measured_peaks(receipts: Iterable[Receipt], plan_digest: str) -> dict[Phase, MeasuredPeak]:
    """The highest measured peak of each phase over all boots of one plan.

    A phase that was cut short still counts: its peak is a lower bound, and bounds only correct upward.
    """
    peaks: dict[Phase, MeasuredPeak] = {}
    for receipt in receipts:
        if receipt.plan.digest != plan_digest:
            continue
        for record in (phase for attempt in receipt.attempts for phase in attempt.phases):
            seen = peaks.get(record.phase)
            host = max(record.peak_host_bytes or 0, seen.host_bytes if seen else 0)
            gpu = max(record.peak_gpu_bytes or 0, seen.gpu_bytes if seen else 0)
            if seen is None or (host, gpu) != (seen.host_bytes, seen.gpu_bytes):
                peaks[record.phase] = MeasuredPeak(record.phase, host, gpu, receipt.id)
    return peaks
