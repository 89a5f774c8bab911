"""`receipts list | show | curve` over receipts on disk."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from moet_boot.cli.main import run
from moet_boot.guard.spool import SpoolWriter
from moet_boot.phases import Phase
from moet_boot.receipts.model import Attempt, CurvePoint, GuardAction, PhaseRecord
from moet_boot.receipts.store import ReceiptStore
from moet_boot.supervise.afterwards import spool_path
from moet_boot.units import GIB
from tests.guard.scenes import look
from tests.supervise.fakes import receipt

CURVE = [CurvePoint(t_s=float(i), available_bytes=(30 - i) * GIB, free_bytes=GIB) for i in range(10)]
ENDED = Attempt(
    started_at="2026-01-01T00:00:00+00:00",
    ready_after_s=6.0,
    ended_after_s=9.0,
    phases=[
        PhaseRecord(phase=Phase.STARTING, started_s=0.0, ended_s=4.0, lowest_available_bytes=26 * GIB),
        PhaseRecord(phase=Phase.SERVING, started_s=6.0, ended_s=9.0, lowest_available_bytes=21 * GIB),
    ],
    guard_actions=[GuardAction(at_s=8.5, action="kill", reason="MemAvailable 7.90 GiB is below the hard floor")],
    curve=CURVE,
    lowest_available_bytes=21 * GIB,
)


@pytest.fixture
def stopped() -> str:
    """A boot that ended as asked."""
    store = ReceiptStore()
    receipt_id, _ = store.create_folder("demo", now=1000.0)
    ended = receipt(receipt_id).model_copy(
        update={"outcome": "stopped", "exit_code": 143, "attempts": [ENDED], "floors": {"kill floor in boot": 8.0}}
    )
    store.write(ended)
    return receipt_id


@pytest.fixture
def killed() -> str:
    """A boot whose moet-boot was killed; only the guard's spool has the samples."""
    store = ReceiptStore()
    receipt_id, folder = store.create_folder("demo", now=2000.0)
    spool = SpoolWriter(spool_path(folder, 1))
    for step, size in enumerate([20, 12, 9.5]):
        spool.append(look(step, size), Phase.KV_CACHE)
    attempt = ENDED.model_copy(update={"ended_after_s": None, "curve": [], "lowest_available_bytes": None})
    left = {"supervisor_pid": os.getpid(), "supervisor_start": 1.0, "attempts": [attempt]}
    store.write(receipt(receipt_id).model_copy(update=left))
    return receipt_id


def test_an_empty_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipts", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["receipts"] == []


def test_the_list_says_how_each_boot_ended(stopped: str, killed: str, capsys: pytest.CaptureFixture[str]) -> None:
    broken, folder = ReceiptStore().create_folder("demo", now=3000.0)
    (folder / "receipt.json").write_text("{")
    assert run(["receipts", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "moet-boot/receipts/v1"
    assert [(r["id"], r["outcome"]) for r in document["receipts"]] == [
        (stopped, "stopped"),
        (killed, "killed"),
        (broken, "unreadable"),
    ]
    assert run(["receipts", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in (stopped, "stopped", "143", "21.00 GiB", killed, "killed", "unreadable"))


def test_one_for_people(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipts", "show", stopped]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("stopped", "exit 143", "serving", "26.00 GiB", "guard at 8.5 s: kill"))


def test_a_container_is_shown_by_its_image(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = ReceiptStore()
    kept = store.read(stopped)
    plan = kept.plan.model_copy(update={"runtime": "docker", "container": {"image": "vllm-moet-gb10:v024"}})
    store.write(kept.model_copy(update={"plan": plan}))
    assert run(["receipts", "show", stopped]) == 0
    shown = capsys.readouterr().out
    assert "image    vllm-moet-gb10:v024" in shown
    assert "command" not in shown


def test_the_last_samples_of_a_killed_boot_are_shown(killed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipts", "show", killed, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["outcome"]) == ("moet-boot/receipt/v1", "killed")
    attempt = document["attempts"][0]
    assert [p["available_bytes"] for p in attempt["curve"]] == [20 * GIB, 12 * GIB, int(9.5 * GIB)]


@pytest.mark.parametrize("boot", ["stopped", "killed"])
def test_the_curve_is_a_drawing_with_phases_and_floors(
    boot: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt_id = request.getfixturevalue(boot)
    target = tmp_path / "curve.svg"
    assert run(["receipts", "curve", receipt_id, "-o", str(target)]) == 0
    assert str(target) in capsys.readouterr().out
    root = ET.fromstring(target.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(e.text or "" for e in root.iter())
    assert receipt_id in words
    assert "serving" in words


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "nothing"], 6, "no receipt 'nothing'"),
        (["show", "../.."], 6, "no receipt"),
        (["curve", "1970", "--attempt", "7"], 2, "attempt"),
    ],
    ids=["unknown", "a path", "no such attempt"],
)
@pytest.mark.usefixtures("stopped")
def test_what_is_not_there(arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipts", *arguments]) == code
    assert says in capsys.readouterr().err


def test_a_damaged_receipt_is_5(capsys: pytest.CaptureFixture[str]) -> None:
    _, folder = ReceiptStore().create_folder("demo")
    (folder / "receipt.json").write_text('{"schema": 1}')
    assert run(["receipts", "show", "last"]) == 5
    assert "cannot be read" in capsys.readouterr().err


def test_a_boot_that_started_nothing_has_no_curve_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    store = ReceiptStore()
    receipt_id, _ = store.create_folder("demo", now=1000.0)
    store.write(receipt(receipt_id).model_copy(update={"outcome": "refused", "exit_code": 3, "attempts": []}))
    assert run(["receipts", "curve"]) == 2
    assert "no server was started" in capsys.readouterr().err


def test_a_boot_that_still_runs_has_no_exit_code_yet(killed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["receipts", "show", killed]) == 0
    assert ", exit" not in capsys.readouterr().out.splitlines()[0]
