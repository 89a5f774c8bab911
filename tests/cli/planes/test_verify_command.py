import json
import os
from pathlib import Path
from typing import Any

import pytest

from moet_boot.cli.main import run
from moet_boot.planes.stamp import stamp_is_valid
from testing.golden import GOLDEN, golden_json
from testing.plane_file import FOREIGN, OWN, REVISION, TINY, copy_of, flip

CHECKPOINT = str(GOLDEN / "iv_ckpt")
CONTRACT = {
    "schema", "path", "format", "mode", "slots", "verified", "unchecked", "bad", "discovery", "whole_file_sha256",
    "known", "io", "bytes_read", "duration_s", "ok",
}  # fmt: skip


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    code = run(["planes", "verify", "--json", *argv])
    return code, json.loads(capsys.readouterr().out)


def test_the_document_keeps_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = document(capsys, str(OWN), "--mode", "full", "--whole-file")
    assert code == 0
    assert found.keys() >= CONTRACT
    assert found["schema"] == "moet-boot/planes-verify/v1"
    assert (found["format"], found["mode"], found["slots"], found["verified"]) == ("own", "full", 8, 8)
    assert (found["unchecked"], found["bad"], found["discovery"], found["ok"]) == (0, [], None, True)
    assert (found["known"], found["io"]) == (None, "direct")
    assert found["whole_file_sha256"] == golden_json("vii_moet2pf/expected.json")["own"]["sha256"]


def test_a_damaged_slot_is_named_and_ends_with_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 8192 + 6 * TINY.slot_stride)
    code, found = document(capsys, str(path), "--mode", "full")
    assert code == 5
    assert found["bad"] == [
        {
            "slot": 6,
            "layer": 1,
            "expert": 2,
            "offset": 8192 + 6 * TINY.slot_stride,
            "bytes": 27_648,
            "reason": "its sha256 differs from the table",
        }
    ]
    assert (found["ok"], found["verified"]) == (False, 7)


def test_people_read_every_damaged_slot_on_a_line_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy_of(OWN, tmp_path)
    for slot in (1, 6):
        flip(path, 8192 + slot * TINY.slot_stride)
    assert run(["planes", "verify", str(path), "--mode", "full"]) == 5
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert "  BAD      slot 1 (layer 0, expert 1), bytes 36864 to 64511: its sha256 differs from the table" in lines
    assert sum(line.startswith("  BAD") for line in lines) == 2
    assert lines[-1] == "  verdict  DAMAGED"
    assert "fix: fetch the file again" in captured.err


def test_a_good_file_is_good_in_full_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["planes", "verify", str(OWN), "--mode", "full", "--no-stamp"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  verdict  good"


@pytest.mark.parametrize(
    ("letter", "mode", "offset", "stride", "order"),
    [("a", "linear", 4112, 48, None), ("b", "permuted", 4112, 48, "expert-major")],
    ids=["a", "b"],
)
def test_a_discovered_table_is_described(
    letter: str, mode: str, offset: int, stride: int, order: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = document(capsys, str(FOREIGN[letter]), "--mode", "full", "--checkpoint", CHECKPOINT)
    assert (code, found["format"]) == (0, "foreign")
    discovery = found["discovery"]
    assert (discovery["mode"], discovery["table_offset"], discovery["entry_stride"]) == (mode, offset, stride)
    assert discovery["order"] == order
    assert found["notes"]


def test_a_file_without_a_table_is_not_called_good(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = document(capsys, str(FOREIGN["c"]), "--mode", "full", "--checkpoint", CHECKPOINT)
    assert (code, found["ok"], found["discovery"]["mode"]) == (5, False, "none")
    assert (found["discovery"]["anchors"], found["discovery"]["anchors_found"]) == (8, 0)


def test_a_missing_file_ends_with_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = document(capsys, str(tmp_path / "none.moet2pf"))
    assert (code, found["schema"], found["exit_code"]) == (6, "moet-boot/error/v1", 6)


@pytest.mark.parametrize("kind", ["directory", "fifo", "pointer", "empty"])
@pytest.mark.timeout(10)
def test_other_things_end_with_5_and_one_message(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd"
    match kind:
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "pointer":
            path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
        case _:
            path.touch()
    assert run(["planes", "verify", str(path)]) == 5
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    assert captured.err.count("fix:") == 1


@pytest.mark.parametrize(
    "argv",
    [
        ["--rebuild", "3"],
        ["--mode", "all"],
        ["--share", "2"],
        ["--threads", "0"],
        ["--seed", "x"],
        ["--nope"],
        ["second-file"],
    ],
    ids=lambda argv: argv[0],
)
def test_wrong_options_end_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["planes", "verify", str(OWN), *argv]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_sample_prints_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["planes", "verify", str(OWN), "--mode", "sample", "--seed", "7"]) == 0
    assert "(sample 0.05 of the slots, seed 7)" in capsys.readouterr().out
    code, found = document(capsys, str(OWN), "--mode", "sample")
    assert code == 0
    assert 0 <= found["seed"] < 1 << 32


def test_another_revision_ends_with_5(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = document(capsys, str(OWN), "--revision", "f" * 40)
    assert code == 5
    assert found["problems"] == [f"made from revision {REVISION}, expected {'f' * 40}"]


def test_the_remedy_is_in_the_document_and_stderr_stays_ndjson(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 9000)
    assert run(["planes", "verify", str(path), "--json"]) == 5
    captured = capsys.readouterr()
    assert json.loads(captured.out)["fix"].startswith("fetch the file again")
    assert [json.loads(line)["stage"] for line in captured.err.splitlines()] == ["slots"]
    assert run(["planes", "verify", str(OWN), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fix"] is None


def test_progress_is_ndjson_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    run(["planes", "verify", "--json", str(OWN), "--mode", "full", "--whole-file", "--no-stamp"])
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["stage"] for event in events] == ["slots", "whole file"]
    assert all(event["done_bytes"] == event["total_bytes"] for event in events)
    assert {"schema", "bytes_per_s", "eta_s"} <= events[0].keys()


def test_a_full_verification_is_recorded_unless_told_not_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy_of(OWN, tmp_path)
    assert run(["planes", "verify", str(path), "--mode", "full", "--no-stamp"]) == 0
    assert not stamp_is_valid(path)
    assert run(["planes", "verify", str(path), "--mode", "full"]) == 0
    assert stamp_is_valid(path)


def test_the_record_is_trusted_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy_of(OWN, tmp_path)
    for argv in ([], [], ["--trust-stamp"]):
        code, found = document(capsys, str(path), "--mode", "full", *argv)
        assert code == 0
        assert (found["on_record_since"] is not None) == bool(argv)
        assert found["mode"] == ("quick" if argv else "full")
    assert run(["planes", "verify", str(path), "--mode", "full", "--trust-stamp"]) == 0
    assert "every slot was good on 20" in capsys.readouterr().out


def test_neighbours_with_the_same_damage_share_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy_of(OWN, tmp_path)
    flip(path, 8192)
    os.truncate(path, 8192 + 5 * TINY.slot_stride)
    assert run(["planes", "verify", str(path)]) == 5
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  BAD")]
    first, last = "slot 5 (layer 1, expert 1)", "slot 7 (layer 1, expert 3)"
    assert lines == [
        "  BAD      slot 0 (layer 0, expert 0), bytes 8192 to 35839: its sha256 differs from the table",
        f"  BAD      3 slots, {first} to {last}, bytes 151552 to 236543: it lies beyond the end of the file",
    ]


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["planes", "verify", "--help"]) == 0
    assert "moet-boot planes verify ds4-planes.moet2pf" in capsys.readouterr().out


def test_slots_are_rebuilt_from_the_checkpoint_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = document(capsys, str(OWN), "--checkpoint", CHECKPOINT, "--rebuild", "3")
    assert code == 0
    assert found["notes"] == ["3 of 3 slots were rebuilt from the checkpoint and are equal"]
