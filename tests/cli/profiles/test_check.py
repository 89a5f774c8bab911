from pathlib import Path

import pytest

from moet_boot.profile.files import shipped_folder, shipped_names
from tests.cli.profiles.commands import profiles


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_shipped_profiles_by_name_and_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(shipped_folder() / f"{name}.toml") for name in shipped_names()]
    said = profiles(capsys, "check", *shipped_names(), *paths, "--json")
    assert (said.code, said.document["schema"]) == (0, "moet-boot/profile-check/v1")
    assert len(said.document["profiles"]) == 2 * len(shipped_names())
    assert all(one["problems"] == [] for one in said.document["profiles"])


def test_every_problem_of_every_file_is_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = write(tmp_path, 'extends = "demo"\nx = 1\ny = 2\n', "a.toml")
    second = write(tmp_path, "a = = 1\n", "b.toml")
    said = profiles(capsys, "check", first, second, "demo", "--json")
    assert said.code == 2
    found = {one["profile"]: one["problems"] for one in said.document["profiles"]}
    assert [problem["key"] for problem in found[first]] == ["x", "y"]
    assert [problem["line"] for problem in found[second]] == [1]
    assert found["demo"] == []


def test_a_rule_that_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "rtx6000-a"\n[env.VLLM_MOE_W2_DELTA_GB]\nvalue = 7\n')
    said = profiles(capsys, "check", path, "--json")
    assert said.code == 3
    (one,) = said.document["profiles"]
    assert [judged["result"]["id"] for judged in one["judged"]] == ["RULE.POOL_CEILING"]


def test_a_file_that_is_not_valid_outweighs_a_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused = write(tmp_path, 'extends = "rtx6000-a"\n[env.VLLM_MOE_W2_DELTA_GB]\nvalue = 7\n', "a.toml")
    assert profiles(capsys, "check", refused, write(tmp_path, "", "b.toml")).code == 2


def test_for_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "rtx6000-a"\n[env.VLLM_MOE_W2_DELTA_GB]\nvalue = 7\n')
    said = profiles(capsys, "check", path, "spark")
    assert f"{path}: refused by a rule (plain)".replace(" ", "") in said.out.replace("\n", "").replace(" ", "")
    assert "refuse RULE.POOL_CEILING (plain): an FP4 pool of 7 GiB, required: at most 6 GiB" in said.words
    assert "spark: ok (plain, mtp)" in said.words
    assert "warn RULE.ARGUMENTS (mtp)" in said.words


def test_for_people_problems_have_their_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = profiles(capsys, "check", write(tmp_path, 'extends = "demo"\n[engine]\nprot = 1\n'))
    assert "not valid" in said.words
    assert "mine.toml:3: engine.prot: is not a known key fix: did you mean port?" in said.words
