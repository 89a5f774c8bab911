from pathlib import Path

import pytest

from moet_boot.profile.model import Profile
from tests.cli.profiles.commands import profiles
from tests.profile.shipped import VARIANTS, shipped


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_json_is_the_whole_resolved_profile(
    capsys: pytest.CaptureFixture[str], name: str, variant: str | None
) -> None:
    said = profiles(capsys, "show", name, "--json", *(["--variant", variant] if variant else []))
    assert next(iter(said.document)) == "schema"
    assert Profile.model_validate(said.document) == shipped(name, variant)


def test_what_it_prints_for_people_is_a_profile_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = profiles(capsys, "show", "rtx6000-b", "--variant", "mtp", "--set", "max-num-seqs=64")
    path = tmp_path / "mine.toml"
    path.write_text(said.out, encoding="utf-8")
    again = profiles(capsys, "show", str(path), "--json")
    assert (again.code, again.document["name"]) == (0, "rtx6000-b")
    assert again.document["flags"]["--max-num-seqs"]["value"] == 64


def test_settings_of_the_environment_are_applied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOET_BOOT_SET", "max-num-seqs=2")
    setting = profiles(capsys, "show", "demo", "--json").document["flags"]["--max-num-seqs"]
    assert (setting["value"], setting["layer"], setting["overrides"]) == (2, "environment", ["profile=4"])


def test_a_mistake_in_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "show", "demo", "--set", "max-num-seq=2")
    assert said.code == 2
    assert said.err.splitlines() == [
        "error: --set max-num-seq=2: no such flag of the server",
        "  fix: did you mean --max-num-seqs?",
    ]
