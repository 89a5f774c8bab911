"""Receipts whose moet-boot was killed: what a later reader makes of them."""

import os
from pathlib import Path

import pytest

from moet_boot.guard.spool import SpoolWriter
from moet_boot.phases import Phase
from moet_boot.receipts.model import Attempt, CurvePoint, PhaseRecord, PlanRecord, Receipt
from moet_boot.supervise.afterwards import killed_boots, outcome_now, spool_path, truthful
from moet_boot.supervise.status import process_start
from moet_boot.units import from_gib
from tests.guard.scenes import look
from tests.supervise.fakes import receipt


@pytest.mark.parametrize(
    ("outcome", "later_s", "expected"),
    [
        ("running", 0.0, "running"),
        ("running", 5.0, "killed"),
        ("running", None, "running"),
        ("stopped", 5.0, "stopped"),
    ],
    ids=["it runs", "its pid is somebody else's", "a receipt without a start", "it ended"],
)
def test_a_receipt_that_says_running_is_believed_only_while_its_supervisor_runs(
    outcome: str, later_s: float | None, expected: str
) -> None:
    start = process_start(os.getpid())
    assert start is not None
    told = {"outcome": outcome, "supervisor_pid": os.getpid()}
    found = receipt("r").model_copy(update={**told, "supervisor_start": None if later_s is None else start + later_s})
    assert outcome_now(found) == expected


def boot(name: str, *, ready_s: float | None = None, outcome: str = "running", digest: str = "d") -> Receipt:
    """A boot whose moet-boot has ended."""
    attempt = Attempt(started_at="x", ready_after_s=ready_s, phases=[PhaseRecord(phase=Phase.KV_CACHE, started_s=0)])
    told = {
        "created_at": "2026-01-01T00:00:10+00:00",
        "outcome": outcome,
        "supervisor_pid": os.getpid(),
        "supervisor_start": 0.0,
        "plan": PlanRecord(digest=digest, runtime="process"),
        "attempts": [attempt],
    }
    return receipt(name).model_copy(update=told)


class TestKilledBoots:
    def test_what_is_told_of_one(self) -> None:
        (found,) = killed_boots([boot("a")], "d")
        assert (found.kind, found.at) == ("killed", 1767225610.0)
        assert "in the phase 'KV cache' (receipt a)" in found.sentence

    @pytest.mark.parametrize(
        ("receipts", "names"),
        [
            ([boot("a"), boot("b")], ["b", "a"]),
            ([boot("a"), boot("b", ready_s=9.0), boot("c")], ["c"]),
            ([boot("a"), boot("b", ready_s=9.0, outcome="stopped")], []),
            ([boot("a"), boot("b", outcome="failed")], ["a"]),
            ([boot("a", digest="other")], []),
            ([boot("a"), boot("b", ready_s=9.0, digest="other")], ["a"]),
            ([boot("a").model_copy(update={"attempts": []})], []),
            ([], []),
        ],
        ids=["two", "one was ready", "the last was ready", "failed is remembered elsewhere", "another plan",
             "another plan was ready", "refused", "none"],
    )  # fmt: skip
    def test_which_count(self, receipts: list[Receipt], names: list[str]) -> None:
        found = killed_boots(receipts, "d")
        assert [failure.sentence.rpartition("receipt ")[2].rstrip(")") for failure in found] == names

    def test_one_that_runs_was_not_killed(self) -> None:
        start = process_start(os.getpid())
        assert killed_boots([boot("a").model_copy(update={"supervisor_start": start})], "d") == []

    def test_a_time_that_cannot_be_read_is_long_ago(self) -> None:
        (found,) = killed_boots([boot("a").model_copy(update={"created_at": "then"})], "d")
        assert found.at == 0.0


def test_the_samples_of_a_killed_boot_become_its_curve(tmp_path: Path) -> None:
    with_samples = SpoolWriter(spool_path(tmp_path, 1))
    for step, size in enumerate([20, 12, 9.5]):
        with_samples.append(look(step, size), Phase.KV_CACHE)
    killed = receipt("r").model_copy(update={"attempts": [Attempt(started_at="then")]})
    attempt = truthful(killed, tmp_path).attempts[0]
    assert [p.available_bytes for p in attempt.curve] == [from_gib(20), from_gib(12), from_gib(9.5)]
    assert attempt.lowest_available_bytes == from_gib(9.5)


def test_the_boot_that_a_receipt_already_has_stays(tmp_path: Path) -> None:
    ring = SpoolWriter(spool_path(tmp_path, 1))
    for step, size in enumerate([20, 12, 9.5]):
        ring.append(look(step, size), Phase.SERVING)
    boot = [CurvePoint(t_s=t, available_bytes=from_gib(gib), free_bytes=0) for t, gib in ((-9.0, 7), (0.5, 30))]
    killed = receipt("r").model_copy(update={"attempts": [Attempt(started_at="then", curve=boot)]})
    attempt = truthful(killed, tmp_path).attempts[0]
    assert [p.available_bytes for p in attempt.curve] == [from_gib(gib) for gib in (7, 30, 12, 9.5)]
    assert attempt.lowest_available_bytes == from_gib(7)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"not a spool"])
def test_a_spool_that_cannot_be_read_spoils_nothing(tmp_path: Path, content: bytes) -> None:
    spool_path(tmp_path, 1).write_bytes(content)
    killed = receipt("r").model_copy(update={"attempts": [Attempt(started_at="then", lowest_available_bytes=7)]})
    assert truthful(killed, tmp_path).attempts[0].lowest_available_bytes == 7
