"""What this host measured before: the peaks of earlier boots of the same plan."""

from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.phases import Phase
from moet_boot.receipts.model import PhaseRecord, Receipt


@dataclass(frozen=True)
class MeasuredPeak:
    """The memory that earlier boots held in one phase, in bytes, and the receipt that shows it."""

    phase: Phase
    host_bytes: int
    gpu_bytes: int
    receipt: str


def measured_peaks(receipts: Iterable[Receipt], plan_digest: str) -> dict[Phase, MeasuredPeak]:
    """For each phase the peak that boots of this plan confirm.

    MemAvailable falls for whatever else runs, too, so one high boot may show somebody else's program, and learning
    from it would refuse a healthy machine for ever. A peak counts when two boots reached it, or when the guard had
    to act at it. A phase that was cut short counts: its peak is a lower bound, and bounds only correct upward.
    """
    mine = [receipt for receipt in receipts if receipt.plan.digest == plan_digest]
    found = {phase: _confirmed(phase, mine) for phase in Phase}
    return {phase: peak for phase, peak in found.items() if peak is not None}


def _confirmed(phase: Phase, receipts: list[Receipt]) -> MeasuredPeak | None:
    calm = [peak for receipt in receipts if receipt.outcome != "guard" and (peak := _peak(phase, receipt))]
    acted = [peak for receipt in receipts if receipt.outcome == "guard" and (peak := _peak(phase, receipt))]
    second = sorted(calm, key=lambda peak: (peak.host_bytes, peak.gpu_bytes))[-2:-1]
    return max([*acted, *second], key=lambda peak: (peak.host_bytes, peak.gpu_bytes), default=None)


def _peak(phase: Phase, receipt: Receipt) -> MeasuredPeak | None:
    """The highest figures of one boot, over its attempts."""
    records = [record for attempt in receipt.attempts for record in attempt.phases if record.phase is phase]
    if not any(_measured(record) for record in records):
        return None
    return MeasuredPeak(
        phase,
        max(record.peak_host_bytes or 0 for record in records),
        max(record.peak_gpu_bytes or 0 for record in records),
        receipt.id,
    )


def _measured(record: PhaseRecord) -> bool:
    return record.peak_host_bytes is not None or record.peak_gpu_bytes is not None
