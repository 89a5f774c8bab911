import json
import tarfile
import tempfile
from pathlib import Path

import pytest

from moet_boot.cli.main import run
from moet_boot.exits import Exit
from moet_boot.receipts.store import ReceiptStore
from tests.report.past import API_KEY, HF_TOKEN, plant


@pytest.fixture(autouse=True)
def no_bug_logs_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_last_boot_of_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", HF_TOKEN)
    receipt_id = plant(ReceiptStore())
    out = tmp_path / "r.tar.gz"
    assert run(["report", "-o", str(out)]) == Exit.DONE
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].startswith(f"{out}  ")
    assert {line.split()[2] for line in lines[1:]} == {
        "report.json", "receipt.json", "profile.toml", "server-1.log", "guard-1.ndjson", "samples-1.csv", "snapshot.json"
    }  # fmt: skip
    assert "look through it before you send it" in captured.err
    with tarfile.open(out) as tar:
        texts = [file.read().decode() for member in tar if (file := tar.extractfile(member))]
    assert receipt_id in texts[0]
    assert not any(secret in text for text in texts for secret in (HF_TOKEN, API_KEY))


def test_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.tar.gz"
    assert run(["report", "-o", str(out), "--json"]) == Exit.DONE
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    contents = {row["name"]: row for row in document.pop("contents")}
    assert document == {
        "schema": "moet-boot/report/v1",
        "path": str(out),
        "size_bytes": out.stat().st_size,
        "receipt": None,
        "notes": ["no boot is on record on this machine"],
    }
    assert set(contents) == {"report.json", "snapshot.json"}
    assert all(row["size_bytes"] > 0 and row["what"] for row in contents.values())
    assert "not in it: no boot is on record" in captured.err


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        pytest.param(["-o", "/nowhere/at/all/r.tar.gz"], Exit.USAGE, "is no folder", id="folder"),
        pytest.param(["-o", "/dev/null"], Exit.USAGE, "is not overwritten", id="device"),
        pytest.param(["--receipt", "20990101"], Exit.ARTEFACT_MISSING, "receipts list", id="receipt"),
        pytest.param(["--frobnicate"], Exit.USAGE, "--frobnicate", id="flag"),
        pytest.param(["extra"], Exit.USAGE, "extra", id="argument"),
    ],
)
def test_one_clear_error(
    arguments: list[str], code: Exit, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [] if "-o" in arguments else ["-o", str(tmp_path / "r.tar.gz")]
    assert run(["report", *arguments, *where]) == code
    captured = capsys.readouterr()
    assert named in captured.err
    assert captured.out == ""
    assert not (tmp_path / "r.tar.gz").exists()


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run(["report", "--help"])
    assert "moet-boot report --receipt 20261129-1524 -o /tmp/report.tar.gz" in capsys.readouterr().out
