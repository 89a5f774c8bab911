import json
import sys
from pathlib import Path

import pytest

from moet_boot.cli.main import run
from moet_boot.exits import Exit
from moet_boot.machine import record as recorder
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.request import SnapshotRequest
from moet_boot.machine.snapshot import SCHEMA, FileFacts, Snapshot

RECORDED = Snapshot(schema_=SCHEMA, arch="aarch64", files=[FileFacts(path="/home/someone/p")], errors={"swaps": "why"})


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[SnapshotRequest | None]:
    """What the recorder is asked for; it answers with a small snapshot."""
    asked: list[SnapshotRequest | None] = []

    def record(request: SnapshotRequest | None) -> Snapshot:
        asked.append(request)
        return RECORDED

    monkeypatch.setattr(recorder, "record", record)
    return asked


def test_this_machine_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot"]) == Exit.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == SCHEMA
    assert document["meminfo"]["MemTotal"] > 0


@pytest.mark.usefixtures("requests")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_document_is_alone_on_stdout(capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    assert run(["snapshot", *flags]) == Exit.DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["arch"] == "aarch64"
    assert "not read: swaps: why" in captured.err


@pytest.mark.usefixtures("requests")
def test_a_file_and_a_quiet_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "machine.json"
    assert run(["snapshot", "-o", str(file)]) == Exit.DONE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"snapshot written to {file}" in captured.err
    assert load_snapshot(file).arch == "aarch64"


@pytest.mark.usefixtures("requests")
def test_a_file_and_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--out", str(tmp_path / "m.json"), "--json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "m.json").read_text())


@pytest.mark.usefixtures("requests")
def test_nothing_identifying_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    run(["snapshot"])
    assert json.loads(capsys.readouterr().out)["files"][0]["path"] == "~/p"


def test_without_a_profile_no_artefact_is_looked_at(requests: list[SnapshotRequest | None]) -> None:
    run(["snapshot"])
    assert requests == [None]


def test_a_profile_names_what_to_look_at(requests: list[SnapshotRequest | None]) -> None:
    assert run(["snapshot", "--profile", "spark", "--variant", "mtp"]) == Exit.DONE
    (request,) = requests
    assert request is not None
    assert request.image == "vllm-moet-gb10:v024"
    assert {place.name for place in request.places} == {"checkpoint", "plane_file"}


def test_an_artefact_may_lie_elsewhere(requests: list[SnapshotRequest | None]) -> None:
    assert run(["snapshot", "--profile", "spark", "--path", "checkpoint=/data/m"]) == Exit.DONE
    (request,) = requests
    assert request is not None
    assert "/data/m" in {place.path for place in request.places}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["--profile", "sprak"], "spark", id="profile"),
        pytest.param(["--profile", "spark", "--variant", "mtpp"], "mtp", id="variant"),
        pytest.param(["--variant", "mtp"], "--profile", id="variant-of-nothing"),
        pytest.param(["--path", "checkpoint=/m"], "--profile", id="path-of-nothing"),
        pytest.param(["--profile", "spark", "--path", "/m"], "NAME=PATH", id="path-without-a-name"),
        pytest.param(["--profile", "spark", "--path", "model=/m"], "checkpoint", id="path-of-an-unknown-artefact"),
        pytest.param(["-o", "/nowhere/at/all/m.json"], "cannot write", id="folder"),
        pytest.param(["-o", "/dev/null"], "no regular file", id="device"),
        pytest.param(["-o"], "requires an argument", id="no-name"),
        pytest.param(["--frobnicate"], "--frobnicate", id="flag"),
        pytest.param(["extra"], "extra", id="argument"),
    ],
)
@pytest.mark.usefixtures("requests")
def test_bad_input_is_one_clear_line(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", *arguments]) == Exit.USAGE
    captured = capsys.readouterr()
    assert named in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_the_output_file_is_opened_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.json"
    file.write_text("old")

    def broken(_: object) -> Snapshot:
        assert file.read_text() == "old"
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder, "record", broken)
    assert run(["snapshot", "-o", str(file)]) == Exit.INTERRUPTED
    assert file.read_text() == "old"


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run(["snapshot", "--help"])
    shown = capsys.readouterr().out
    assert "moet-boot snapshot -o machine.json" in shown
    assert "moet_boot.machine.record" in sys.modules
