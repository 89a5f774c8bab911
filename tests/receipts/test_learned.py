from moet_boot.phases import Phase
from moet_boot.receipts.learned import MeasuredPeak, measured_peaks
from moet_boot.receipts.model import Attempt, PhaseRecord, PlanRecord, Receipt, Versions


def receipt(receipt_id: str, digest: str, *attempts: dict[Phase, tuple[int | None, int | None]]) -> Receipt:
    return Receipt(
        id=receipt_id,
        created_at="x",
        supervisor_pid=1,
        profile="demo",
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest=digest, runtime="process"),
        attempts=[
            Attempt(
                started_at="x",
                phases=[
                    PhaseRecord(phase=p, started_s=0, peak_host_bytes=host, peak_gpu_bytes=gpu)
                    for p, (host, gpu) in peaks.items()
                ],
            )
            for peaks in attempts
        ],
    )


def test_the_highest_peak_of_all_boots_of_this_plan_counts() -> None:
    receipts = [
        receipt("a", "mine", {Phase.PLANES: (70, 5)}, {Phase.PLANES: (80, 4)}),
        receipt("b", "mine", {Phase.PLANES: (75, 9)}),
        receipt("c", "other", {Phase.PLANES: (500, 500)}),
    ]
    assert measured_peaks(receipts, "mine") == {Phase.PLANES: MeasuredPeak(Phase.PLANES, 80, 9, "b")}


def test_a_phase_without_figures_teaches_nothing_harmful() -> None:
    found = measured_peaks([receipt("a", "mine", {Phase.STARTING: (None, None)})], "mine")
    assert found[Phase.STARTING] == MeasuredPeak(Phase.STARTING, 0, 0, "a")


def test_no_receipts_no_peaks() -> None:
    assert measured_peaks([], "mine") == {}
