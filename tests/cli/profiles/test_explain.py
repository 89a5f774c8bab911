import pytest

from moet_boot.profile.explain import explain
from tests.cli.profiles.commands import profiles
from tests.profile.shipped import VARIANTS, shipped


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_decision_is_in_the_document(capsys: pytest.CaptureFixture[str], name: str, variant: str | None) -> None:
    said = profiles(capsys, "explain", name, "--json", *(["--variant", variant] if variant else []))
    assert (said.code, said.document["schema"]) == (0, "moet-boot/profile-explain/v1")
    assert (said.document["profile"], said.document["variant"]) == (name, variant)
    assert [one["key"] for one in said.document["settings"]] == [one.key for one in explain(shipped(name, variant))]


def test_one_setting_with_everything_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "explain", "rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "--json", "--set", "VLLM_MOE_W2_DELTA_GB=4")
    (one,) = said.document["settings"]
    assert (one["value"], one["layer"], one["overrides"]) == ("4", "flag", ["profile=6"])
    assert one["why"] == "chosen by --set"
    assert "512 slots" in one["replaced_why"]


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "explain", "rtx6000-a", "delta_gb", "--set", "VLLM_MOE_W2_DELTA_GB=4")
    assert said.code == 0
    assert "VLLM_MOE_W2_DELTA_GB = 4" in said.words
    assert "set by flag instead of profile=6 whose why The pool of experts" in said.words


def test_for_people_a_whole_profile_has_its_tables_as_headings(capsys: pytest.CaptureFixture[str]) -> None:
    lines = profiles(capsys, "explain", "spark").out.splitlines()
    headings = [line.strip() for line in lines if line and not line.startswith(" ")]
    assert headings == [
        "hardware",
        "engine",
        "artefacts",
        "mounts",
        "container",
        "memory",
        "guard",
        "deadlines",
        "restart",
        "acceptance",
        "sampling",
        "curves",
    ]


def test_a_key_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "explain", "spark", "gurad")
    assert said.code == 2
    assert "did you mean guard?" in said.err
