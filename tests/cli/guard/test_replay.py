"""`moet-boot guard replay`, as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest

from moet_boot.cli.main import run

FIELD = Path(__file__).parent.parent.parent / "data" / "field"
COLLAPSE = FIELD / "spark-trace-collapse-after-load.json"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["guard", "replay", "--profile", "spark", "--json", *arguments]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


@pytest.mark.parametrize("extra", [[], ["--hz", "4"], ["--hz", "20", "--no-labels"]], ids=" ".join)
@pytest.mark.parametrize("path", sorted(FIELD.glob("spark-trace-*.json")), ids=lambda path: path.stem)
def test_the_document(capsys: pytest.CaptureFixture[str], path: Path, extra: list[str]) -> None:
    expected = json.loads(path.read_text())["expect"]["guard"]
    body = answer(capsys, "--trace", str(path), *extra)
    assert body["schema"] == "moet-boot/guard-replay/v1"
    assert set(body) == {"schema", "profile", "action", "at_s", "reason", "samples", "log"}
    assert body["action"] in {expected["action"], *expected.get("also_ok", [])}
    if body["action"] == "none":
        assert (body["at_s"], body["log"]) == (None, [])
    else:
        assert expected["not_before_s"] <= body["at_s"] <= expected["by_s"]
        assert body["reason"] in {entry["reason"] for entry in body["log"]}


def test_a_bare_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    trace.write_text(json.dumps(json.loads(COLLAPSE.read_text())["boot_trace"]))
    assert answer(capsys, "--trace", str(trace)) == answer(capsys, "--trace", str(COLLAPSE))


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guard", "replay", "-p", "spark", "--trace", str(FIELD / "spark-trace-uvm-livelock.json")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("kill at 60.00 s: livelock")
    assert "relieve" in shown


BAD = {
    "no such profile": (["--profile", "sparc", "--trace", str(COLLAPSE)], "sparc"),
    "no such variant": (["--profile", "spark", "--variant", "nope", "--trace", str(COLLAPSE)], "nope"),
    "no such file": (["--profile", "spark", "--trace", "/no/such/trace.json"], "cannot read the trace"),
    "no trace": (["--profile", "spark", "--trace", __file__], "is not JSON"),
    "a rate of zero": (["--profile", "spark", "--trace", str(COLLAPSE), "--hz", "0"], "--hz"),
    "no profile": (["--trace", str(COLLAPSE)], "--profile"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_error_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["guard", "replay", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err
    assert shown.err.count("error:") == 1


@pytest.mark.parametrize("command", [["guard", "--help"], ["guard", "replay", "--help"], ["rehearse", "--help"]])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert run(command) == 0
    shown = capsys.readouterr().out
    assert "Usage: moet-boot" in shown
    assert "Examples:" in shown or "replay" in shown
