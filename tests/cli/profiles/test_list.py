import json
from pathlib import Path

import pytest

from moet_boot.cli.profiles.machine import facts_of, machine_facts
from moet_boot.machine.snapshot import Snapshot
from moet_boot.profile.files import shipped_names
from tests.cli.profiles.commands import profiles

FIELD = Path(__file__).parents[2] / "data/field"


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "list", "--json")
    assert (said.code, said.document["schema"]) == (0, "moet-boot/profiles/v1")
    rows = {row["name"]: row for row in said.document["profiles"]}
    assert list(rows) == shipped_names()
    assert rows["rtx6000-b"]["variants"] == ["plain", "mtp"]
    for row in rows.values():
        assert row["fits"] is (row["against"] == [])
        assert row["summary"]


@pytest.mark.parametrize(
    ("case", "fitting"),
    [
        ("spark-tn-nvml-not-supported", {"spark", "demo"}),
        ("rtx-tn-cached-boot-62gib-host", {"rtx6000-a", "rtx6000-b", "demo"}),
        ("rtx-wsl2-hidden-overhead", {"demo"}),
    ],
)
def test_recorded_machines(capsys: pytest.CaptureFixture[str], case: str, fitting: set[str]) -> None:
    said = profiles(capsys, "list", "--snapshot", str(FIELD / f"{case}.json"), "--json")
    known = {"spark", "rtx6000-a", "rtx6000-b", "demo"}
    assert known & {row["name"] for row in said.document["profiles"] if row["fits"]} == fitting


def test_for_people_it_says_why_a_profile_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "list", "--snapshot", str(FIELD / "spark-tn-nvml-not-supported.json"))
    assert said.code == 0
    assert "spark plain, mtp yes" in said.words
    assert "no: needs x86_64, this is aarch64" in said.words


def test_a_file_that_is_no_snapshot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = profiles(capsys, "list", "--snapshot", str(tmp_path / "none.json"))
    assert said.code == 2
    assert "no such snapshot file" in said.err


def test_a_machine_without_a_driver() -> None:
    facts = facts_of(Snapshot.model_validate({"arch": "x86_64", "nvml": {"init": "LIBRARY_NOT_FOUND"}}))
    assert (facts.gpus, facts.gpu_error) == ((), "NVML: LIBRARY_NOT_FOUND")


def test_a_machine_whose_gpus_could_not_be_read() -> None:
    facts = facts_of(Snapshot(errors={"nvml": "no answer in 5 s"}))
    assert facts.gpu_error == "no answer in 5 s"
    assert facts_of(Snapshot()).gpu_error == "not in the snapshot"


def test_what_a_snapshot_says_about_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    gpu = {"index": 0, "name": "NVIDIA GB10", "cc": "12.1", "memory": {"error": "NOT_SUPPORTED"}}
    memory = {"MemTotal": 1000, "MemFree": 500}
    path.write_text(
        json.dumps({"arch": "aarch64", "meminfo": memory, "nvml": {"init": "OK", "gpus": [gpu]}, "os": {"wsl": True}}),
        encoding="utf-8",
    )
    facts = machine_facts(path)
    assert (facts.arch, facts.memory_bytes, facts.wsl, facts.gpu_error) == ("aarch64", 1_024_000, True, None)
    assert [(g.name, g.compute_capability, g.memory_bytes) for g in facts.gpus] == [("NVIDIA GB10", "12.1", None)]
