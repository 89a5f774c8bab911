import threading
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError, UsageError
from moet_boot.receipts.model import PlanRecord, Receipt, Versions
from moet_boot.receipts.store import ReceiptStore


def receipt(receipt_id: str) -> Receipt:
    return Receipt(
        id=receipt_id,
        created_at="2026-01-01T00:00:00+00:00",
        supervisor_pid=1,
        profile="demo",
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest="d", runtime="process"),
    )


@pytest.fixture
def store(tmp_path: Path) -> ReceiptStore:
    return ReceiptStore(tmp_path / "receipts")


def written(store: ReceiptStore, profile: str = "demo", now: float = 1e9) -> str:
    receipt_id, _ = store.create_folder(profile, now=now)
    store.write(receipt(receipt_id))
    return receipt_id


def test_ids_sort_by_time_and_never_collide(store: ReceiptStore) -> None:
    ids = [written(store, now=now) for now in (1e9, 1e9, 1e9 + 60)]
    assert len(set(ids)) == 3
    assert store.ids() == sorted(ids)


def test_a_receipt_comes_back_as_it_was_written(store: ReceiptStore) -> None:
    receipt_id = written(store)
    assert store.read(receipt_id) == receipt(receipt_id)


@pytest.mark.parametrize("ask", ["last", "full", "beginning"])
def test_a_receipt_is_found_by_last_by_id_and_by_its_beginning(store: ReceiptStore, ask: str) -> None:
    written(store, "spark", now=1e9)
    newest = written(store, "demo", now=2e9)
    name = {"last": "last", "full": newest, "beginning": newest[:8]}[ask]
    assert store.read(name).id == newest


def test_an_ambiguous_beginning_is_refused_with_the_choices(store: ReceiptStore) -> None:
    ids = [written(store, p) for p in ("spark", "demo")]
    with pytest.raises(UsageError, match="2 receipts begin with") as error:
        store.read(ids[0][:8])
    assert ids[0] in str(error.value)


@pytest.mark.parametrize("name", ["last", "", "nope", "../../etc/passwd", "2001"])
def test_a_receipt_that_is_not_there_is_missing(store: ReceiptStore, name: str) -> None:
    with pytest.raises(ArtefactMissingError, match="no receipt"):
        store.read(name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"id": 3}'], ids=repr)
def test_a_damaged_receipt_is_named_and_the_others_stay_readable(store: ReceiptStore, content: bytes) -> None:
    good = written(store, now=1e9)
    bad = written(store, now=2e9)
    (store.folder(bad) / "receipt.json").write_bytes(content)
    with pytest.raises(ArtefactDamagedError, match=bad):
        store.read(bad)
    listed = store.list()
    assert [(entry.id, entry.receipt is not None) for entry in listed] == [(good, True), (bad, False)]
    assert listed[1].problem


def test_a_write_leaves_no_temporary_file(store: ReceiptStore) -> None:
    receipt_id = written(store)
    assert [p.name for p in store.folder(receipt_id).iterdir()] == ["receipt.json"]


def test_a_reader_never_sees_half_a_receipt(store: ReceiptStore) -> None:
    receipt_id = written(store)
    big = receipt(receipt_id)
    big.findings = [{"id": "X", "text": "y" * 1000}] * 200
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.write(big)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(store.read(receipt_id).id == receipt_id for _ in range(50))
    finally:
        stop.set()
        writer.join()


def test_a_folder_that_cannot_be_made_is_one_clear_error() -> None:
    with pytest.raises(MoetBootError, match="cannot create /proc/") as error:
        ReceiptStore(Path("/proc/moet-boot/receipts")).create_folder("demo")
    assert "MOET_BOOT_STATE_DIR" in error.value.fix


def test_an_unknown_key_of_a_later_version_is_left_alone(store: ReceiptStore) -> None:
    receipt_id = written(store)
    path = store.folder(receipt_id) / "receipt.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"profile"', '"later": 1, "profile"', 1), encoding="utf-8")
    assert store.read(receipt_id).profile == "demo"
