from pathlib import Path

import pytest

from tests.cli.profiles.commands import profiles


def test_two_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "diff", "rtx6000-a", "rtx6000-b", "--json")
    assert (said.code, said.document["schema"]) == (0, "moet-boot/profile-diff/v1")
    found = {one["key"]: (one["left"], one["right"]) for one in said.document["differences"]}
    assert found["flags.--max-num-seqs"] == ("1", "256")
    assert found["env.VLLM_MOE_W2_DELTA_GB"] == ("6", "0")
    assert found["env.VLLM_MOE_W2_STORE_DIR"] == ("/store", None)


def test_a_profile_and_its_variant(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "diff", "rtx6000-b", "rtx6000-b:mtp")
    assert "flags.--max-num-seqs 256 192" in said.words
    assert "not said" in said.words


def test_a_file_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "demo"\n[env.DO_NOT_TRACK]\nvalue = 0\n', encoding="utf-8")
    (one,) = profiles(capsys, "diff", "demo", str(path), "--json").document["differences"]
    assert (one["key"], one["left"], one["right"]) == ("env.DO_NOT_TRACK", "1", "0")


def test_nothing_differs(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "diff", "spark", "spark:plain")
    assert (said.code, said.out) == (0, "")
    assert said.err == "spark and spark:plain decide everything alike\n"


def test_a_variant_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "diff", "spark", "spark:mpt")
    assert said.code == 2
    assert "did you mean mtp?" in said.err
