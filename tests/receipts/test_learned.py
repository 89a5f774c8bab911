from moet_boot.phases import Phase
from moet_boot.receipts.learned import MeasuredPeak, measured_peaks
from moet_boot.receipts.model import Attempt, Outcome, PhaseRecord, PlanRecord, Receipt, Versions

Peaks = dict[Phase, tuple[int | None, int | None]]


def receipt(receipt_id: str, *attempts: Peaks, digest: str = "mine", outcome: Outcome = "stopped") -> Receipt:
    return Receipt(
        id=receipt_id,
        created_at="x",
        supervisor_pid=1,
        profile="demo",
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest=digest, runtime="process"),
        outcome=outcome,
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


def test_a_peak_that_two_boots_reached_counts() -> None:
    receipts = [
        receipt("a", {Phase.PLANES: (70, 5)}, {Phase.PLANES: (80, 4)}),
        receipt("b", {Phase.PLANES: (90, 9)}),
        receipt("c", {Phase.PLANES: (75, 9)}),
        receipt("d", {Phase.PLANES: (500, 500)}, digest="other"),
    ]
    assert measured_peaks(receipts, "mine") == {Phase.PLANES: MeasuredPeak(Phase.PLANES, 80, 5, "a")}


def test_one_high_boot_alone_proves_nothing() -> None:
    assert measured_peaks([receipt("a", {Phase.PLANES: (500, 5)})], "mine") == {}


def test_one_boot_that_the_guard_had_to_end_counts_alone() -> None:
    receipts = [
        receipt("a", {Phase.PLANES: (70, 0)}),
        receipt("b", {Phase.PLANES: (111, 0)}, outcome="guard"),
    ]
    assert measured_peaks(receipts, "mine")[Phase.PLANES].receipt == "b"


def test_two_calm_boots_above_the_guarded_one_win() -> None:
    receipts = [
        receipt("a", {Phase.PLANES: (120, 0)}),
        receipt("b", {Phase.PLANES: (111, 0)}, outcome="guard"),
        receipt("c", {Phase.PLANES: (115, 0)}),
    ]
    assert measured_peaks(receipts, "mine")[Phase.PLANES].host_bytes == 115


def test_a_phase_without_figures_teaches_nothing() -> None:
    receipts = [receipt("a", {Phase.STARTING: (None, None)}), receipt("b", {Phase.STARTING: (None, None)})]
    assert measured_peaks(receipts, "mine") == {}


def test_vram_alone_is_a_figure() -> None:
    receipts = [receipt("a", {Phase.PLANES: (None, 7)}), receipt("b", {Phase.PLANES: (None, 9)})]
    assert measured_peaks(receipts, "mine")[Phase.PLANES].gpu_bytes == 7


def test_no_receipts_no_peaks() -> None:
    assert measured_peaks([], "mine") == {}
