import gzip
import io
import json
import tarfile
import tempfile
from pathlib import Path

import pytest

from moet_boot import __version__
from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.machine.snapshot import SCHEMA, Checkpoint, Snapshot
from moet_boot.receipts.store import ReceiptStore
from moet_boot.report.report import Report, write_report
from tests.report.past import COMMIT, ENVIRONMENT, HOME, HOST, IDENTITY, LOG, OTHER_USER, PLANTED, plant

SNAPSHOT = Snapshot(
    schema_=SCHEMA,
    arch="aarch64",
    checkpoint=Checkpoint(path=f"/home/{OTHER_USER}/m", problems=[f"{HOME}/m on {HOST} is a file"]),
    cmdline=f"root=/dev/x ip=203.0.113.77 host={HOST}",
    errors={"docker": f"no answer from tcp://{HOST}:2375"},
)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReceiptStore:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return ReceiptStore(tmp_path / "receipts")


def write(store: ReceiptStore, out: Path, receipt_id: str | None = None) -> Report:
    return write_report(
        out, receipt_id, env=ENVIRONMENT, store=store, recorder=lambda: SNAPSHOT, identity=IDENTITY, now=1e9
    )


def unpacked(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        files = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar}
        return {name: file.read().decode() for name, file in files.items() if file}


def raw(path: Path) -> bytes:
    """The whole archive, its own headers included."""
    return gzip.decompress(path.read_bytes()) + path.read_bytes()


def test_nothing_that_was_planted_is_anywhere_in_the_archive(store: ReceiptStore, tmp_path: Path) -> None:
    plant(store)
    bug = tmp_path / "moet-boot-bug-1"
    bug.mkdir()
    (bug / "bug-1.log").write_text(LOG)
    (store.folder(store.ids()[0]) / "server-2.log").write_text(LOG * 2000)
    report = write(store, tmp_path / "r.tar.gz")
    content = raw(report.path).lower()
    assert [name for name, planted in PLANTED.items() if planted.lower().encode() in content] == []


def test_nor_from_a_damaged_receipt_nor_in_the_notes(store: ReceiptStore, tmp_path: Path) -> None:
    receipt_id = plant(store)
    (store.folder(receipt_id) / "receipt.json").write_text(LOG)
    (store.folder(receipt_id) / "samples-1.spool").write_text(HOST)
    report = write(store, tmp_path / "r.tar.gz")
    content = raw(report.path).lower() + "\n".join(report.notes).lower().encode()
    assert len(report.notes) == 2
    assert [name for name, planted in PLANTED.items() if planted.lower().encode() in content] == []


def test_what_explains_the_failure_is_there(store: ReceiptStore, tmp_path: Path) -> None:
    receipt_id = plant(store)
    files = unpacked(write(store, tmp_path / "r.tar.gz").path)
    assert "ValueError: the KV cache needs 8192 tokens, max_num_batched_tokens=2048" in files["server-1.log"]
    receipt = json.loads(files["receipt.json"])
    assert receipt["id"] == receipt_id
    assert receipt["outcome"] == "guard"
    assert receipt["plan"]["argv"] == [
        "vllm",
        "serve",
        "~/model",
        "--api-key",
        "[redacted]",
        "[redacted]",
        "--port",
        "8000",
    ]
    assert receipt["plan"]["env"]["VLLM_MOE_W2"] == "1"
    assert receipt["plan"]["digest"] == "ab" * 32
    assert COMMIT in files["server-1.log"]
    assert json.loads(files["guard-1.ndjson"])["reason"] == "of ~/x on [name]"
    assert files["samples-1.csv"].count("\n") == 3
    snapshot = json.loads(files["snapshot.json"])
    assert (snapshot["schema"], snapshot["arch"]) == (SCHEMA, "aarch64")


def test_the_summary_comes_first_and_says_what_is_inside(store: ReceiptStore, tmp_path: Path) -> None:
    receipt_id = plant(store)
    report = write(store, tmp_path / "r.tar.gz")
    files = unpacked(report.path)
    assert next(iter(files)) == "report.json"
    summary = json.loads(files["report.json"])
    assert summary["schema"] == "moet-boot/report-summary/v1"
    assert summary["versions"]["moet_boot"] == __version__
    assert summary["receipt"] == receipt_id
    assert [*summary["contents"]] == list(files)[1:]
    assert {e.name: len(e.content) for e in report.entries} == {
        name: len(text.encode()) for name, text in files.items()
    }
    assert report.size_bytes == report.path.stat().st_size


def test_without_any_receipt(store: ReceiptStore, tmp_path: Path) -> None:
    report = write(store, tmp_path / "r.tar.gz")
    assert report.receipt is None
    assert report.notes == ("no boot is on record on this machine",)
    assert set(unpacked(report.path)) == {"report.json", "snapshot.json"}


def test_the_boot_that_was_asked_for(store: ReceiptStore, tmp_path: Path) -> None:
    first, _ = plant(store), plant(store, now=2e9)
    assert write(store, tmp_path / "r.tar.gz", first[:12]).receipt == first


def test_a_boot_that_is_not_there(store: ReceiptStore, tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError, match="no receipt 'x'"):
        write(store, tmp_path / "r.tar.gz", "x")
    assert not (tmp_path / "r.tar.gz").exists()


def test_an_older_report_is_not_overwritten_nor_the_machine_read_for_nothing(
    store: ReceiptStore, tmp_path: Path
) -> None:
    out = tmp_path / "r.tar.gz"
    out.write_text("older")
    with pytest.raises(UsageError, match="exists and is not overwritten"):
        write_report(out, None, env={}, store=store, recorder=lambda: pytest.fail("read"))
    assert out.read_text() == "older"


def test_a_name_from_the_time(store: ReceiptStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = write_report(None, None, env={}, store=store, recorder=lambda: SNAPSHOT)
    assert report.path.parent == tmp_path
    assert report.path.name.startswith("moet-boot-report-20")
    assert tarfile.is_tarfile(io.BytesIO(report.path.read_bytes()))
