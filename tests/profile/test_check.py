from pathlib import Path

import pytest

from moet_boot.profile.check import check_profile
from moet_boot.profile.files import shipped_names


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_profiles_are_in_order(name: str) -> None:
    checked = check_profile(name)
    assert checked.problems == ()
    assert not checked.refused
    assert checked.variants[0] == "plain"


def test_a_warning_is_told_with_its_variant() -> None:
    (judged,) = check_profile("spark").judged
    assert (judged.variant, judged.result.id, judged.result.status) == ("mtp", "RULE.ARGUMENTS", "warn")


def test_a_rule_that_refuses(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "rtx6000-a"\n[env.VLLM_MOE_W2_DELTA_GB]\nvalue = 7\n')
    checked = check_profile(path)
    assert checked.problems == ()
    assert checked.refused
    assert [judged.result.id for judged in checked.judged] == ["RULE.POOL_CEILING"]


def test_only_the_variant_that_breaks_a_rule_is_named(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'extends = "rtx6000-b"\n[variant.bad]\nsummary = "s"\n[variant.bad.flags."--kv-cache-dtype"]\nvalue = "auto"\n',
    )
    checked = check_profile(path)
    assert checked.variants == ("plain", "mtp", "bad")
    assert [(judged.variant, judged.result.id) for judged in checked.judged] == [("bad", "RULE.KV_DTYPE")]


def test_problems_are_listed_and_nothing_is_raised(tmp_path: Path) -> None:
    checked = check_profile(write(tmp_path, 'extends = "demo"\nx = 1\ny = 2\n'))
    assert [problem.key for problem in checked.problems] == ["x", "y"]
    assert checked.variants == ()


@pytest.mark.parametrize("name", ["sprak", "/nowhere/x.toml", "/"])
def test_what_is_no_profile_is_a_problem_too(name: str) -> None:
    assert len(check_profile(name).problems) == 1
