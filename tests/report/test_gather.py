import gzip
from pathlib import Path

import pytest

from moet_boot.receipts.redact import REDACTED
from moet_boot.receipts.store import ReceiptStore
from moet_boot.report.gather import Gathered, gather_boot, gather_bug_logs, recent_boots, samples_csv
from tests.report.past import API_KEY, LOG, plant


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    return ReceiptStore(tmp_path / "receipts")


def gathered(store: ReceiptStore, receipt_id: str) -> Gathered:
    found = Gathered()
    gather_boot(found, store, receipt_id, {})
    return found


def texts(found: Gathered) -> dict[str, str]:
    return {piece.name: piece.content for piece in found.pieces if isinstance(piece.content, str)}


def test_everything_about_a_boot(store: ReceiptStore) -> None:
    found = gathered(store, plant(store))
    assert [piece.name for piece in found.pieces] == [
        "receipt.json",
        "profile.toml",
        "server-1.log",
        "guard-1.ndjson",
        "samples-1.csv",
    ]
    assert all(piece.what for piece in found.pieces)
    assert found.notes == []
    assert texts(found)["server-1.log"] == LOG
    assert texts(found)["profile.toml"].startswith("# Resolved from demo")


def test_samples_are_a_table_with_empty_cells_for_what_was_not_measured(store: ReceiptStore) -> None:
    folder = store.folder(plant(store))
    assert samples_csv(folder / "samples-1.spool").splitlines() == [
        "t_s,available,free,swap_used,psi_full_avg10,residual,phase,action",
        "0.5,21474836480,10737418240,0,0.25,1073741824,starting,none",
        "0.75,1073741824,,,,,loading_weights,kill",
    ]


def test_the_curve_of_a_boot_that_was_killed_comes_from_the_guard(store: ReceiptStore) -> None:
    receipt_id = plant(store)
    receipt = store.read(receipt_id)
    receipt.attempts[0].ended_after_s = None
    receipt.attempts[0].curve = []
    store.write(receipt)
    (document,) = [piece.content for piece in gathered(store, receipt_id).pieces if piece.name == "receipt.json"]
    assert [point["available_bytes"] for point in document["attempts"][0]["curve"]] == [20 << 30, 1 << 30]


def test_a_damaged_receipt_is_included_as_it_is(store: ReceiptStore) -> None:
    receipt_id = plant(store)
    (store.folder(receipt_id) / "receipt.json").write_text('{"id": 5')
    found = gathered(store, receipt_id)
    assert texts(found)["receipt.json"] == '{"id": 5'
    assert "cannot be read" in found.notes[0]
    assert "server-1.log" in texts(found)


@pytest.mark.parametrize(
    ("name", "damage", "named"),
    [
        ("samples-1.spool", b"no spool", "samples-1.csv: "),
        ("server-1.log.00001.gz", b"no gzip", "server-1.log: it cannot be read"),
        ("server-1.log.00001.gz", gzip.compress(b"x" * 99)[:-9], "server-1.log: it cannot be read"),
    ],
    ids=["spool", "segment", "cut-segment"],
)
def test_what_cannot_be_read_is_a_note(store: ReceiptStore, name: str, damage: bytes, named: str) -> None:
    receipt_id = plant(store)
    (store.folder(receipt_id) / name).write_bytes(damage)
    found = gathered(store, receipt_id)
    (note,) = found.notes
    assert note.startswith(named)
    assert len(found.pieces) == 4


def test_a_profile_that_is_not_there_any_more(store: ReceiptStore) -> None:
    receipt_id = plant(store)
    store.write(store.read(receipt_id).model_copy(update={"profile": "my-own"}))
    found = gathered(store, receipt_id)
    assert "profile.toml" not in texts(found)
    assert found.notes[0].startswith("profile.toml: 'my-own': no such profile")


def test_a_profile_that_changed_since_says_so(store: ReceiptStore) -> None:
    receipt_id = plant(store)
    store.write(store.read(receipt_id).model_copy(update={"overrides": ["max-num-seqs=2"]}))
    found = gathered(store, receipt_id)
    assert "value = 2" in texts(found)["profile.toml"]
    assert "word for word" in found.notes[0]


def test_a_secret_among_the_settings_of_a_profile_is_hidden(store: ReceiptStore, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        'schema = "moet-boot/profile/v1"\nextends = "demo"\nname = "mine"\ntitle = "t"\nsummary = "s"\n'
        f'[env.VLLM_API_KEY]\nvalue = "{API_KEY}"\nwhy = "w"\nsource = "s"\n'
        f'[flags."--api-key"]\nvalue = "{API_KEY}"\nwhy = "w"\nsource = "s"\n'
    )
    receipt_id = plant(store)
    store.write(store.read(receipt_id).model_copy(update={"profile": str(own)}))
    text = texts(gathered(store, receipt_id))["profile.toml"]
    assert API_KEY not in text
    assert text.count(f'value = "{REDACTED}"') == 2


def test_the_newest_bug_logs(tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / f"moet-boot-bug-{9 - number}"
        folder.mkdir()
        (folder / f"bug-20260101-00000{number}.log").write_text(f"bug {number}")
    found = Gathered()
    gather_bug_logs(found, tmp_path)
    assert texts(found) == {"bug-1.log": "bug 2", "bug-2.log": "bug 3", "bug-3.log": "bug 4"}


def test_recent_boots_in_a_line_each(store: ReceiptStore) -> None:
    ids = [plant(store, now=1e9 + 60 * number) for number in range(22)]
    (store.folder(ids[-1]) / "receipt.json").write_text("x")
    boots = recent_boots(store)
    assert [boot["id"] for boot in boots] == ids[-20:]
    assert boots[0] == {"id": ids[2], "outcome": "guard", "exit_code": 8}
    assert boots[-1]["outcome"] == "unreadable"
