"""Every recorded trace gets the action of its verdict inside its window, at any rate, with and without labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from moet_boot.guard.floors import floors_of
from moet_boot.guard.replay import Replay, replay, resampled, without_labels
from moet_boot.guard.trace import load_trace
from moet_boot.profile.load import load_profile

FIELD = Path(__file__).parent.parent / "data" / "field"
CASES = sorted(path for path in FIELD.glob("*.json") if "boot_trace" in json.loads(path.read_text()))
RATES = (None, 4.0, 10.0, 20.0)


def verdict_of(path: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(path.read_text())["expect"]["guard"]
    return expected


def replayed(path: Path, hz: float | None, *, labels: bool) -> Replay:
    floors = floors_of(load_profile(json.loads(path.read_text())["profile"]).guard)
    points = load_trace(path)
    points = points if labels else without_labels(points)
    return replay(points if hz is None else resampled(points, hz), floors)


def test_the_traces_are_here() -> None:
    assert {path.stem for path in CASES} >= {
        "spark-trace-collapse-after-load",
        "spark-trace-low-memfree-serving",
        "spark-trace-page-cache-flood-ok",
        "spark-trace-uvm-livelock",
    }


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "no-labels"])
@pytest.mark.parametrize("hz", RATES, ids=lambda hz: "as-recorded" if hz is None else f"{hz:g}Hz")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_action_and_window(path: Path, hz: float | None, labels: bool) -> None:
    expected = verdict_of(path)
    result = replayed(path, hz, labels=labels)
    assert result.action.value in {expected["action"], *expected.get("also_ok", [])}, result.reason
    if result.action.value == expected["action"] and "by_s" in expected:
        assert result.at_s is not None
        assert expected["not_before_s"] <= result.at_s <= expected["by_s"], result.reason


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_reason_has_words_and_numbers(path: Path) -> None:
    result = replayed(path, None, labels=True)
    assert result.at_s is None or ("MemAvailable" in result.reason or "livelock" in result.reason)
    assert any(character.isdigit() for character in result.reason)


def test_a_note_is_not_read(tmp_path: Path) -> None:
    samples = [
        {"t_s": t, "mem_available_gib": 60, "note": "NVRM: Out of memory [NV_ERR_NO_MEMORY] _memdescAllocInternal"}
        for t in range(5)
    ]
    path = tmp_path / "nvrm.json"
    path.write_text(json.dumps(samples))
    floors = floors_of(load_profile("spark").guard)
    assert replay(load_trace(path), floors).action.value == "none"
