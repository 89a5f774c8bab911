from pathlib import Path

import pytest

from tests.cli.profiles.commands import profiles

FIELD = Path(__file__).parents[2] / "data/field"


@pytest.mark.parametrize(
    ("streams", "profile", "variant", "basis"),
    [
        (1, "rtx6000-b", "mtp", "measured"),
        (32, "rtx6000-b", None, "measured"),
        (64, "rtx6000-b", "mtp", "measured"),
        (80, "rtx6000-b", "mtp", "interpolated"),
        (96, "rtx6000-b", None, "measured"),
        (256, "rtx6000-b", None, "measured"),
        (1000, "rtx6000-b", None, "beyond"),
    ],
)
def test_the_table_decides(
    capsys: pytest.CaptureFixture[str], streams: int, profile: str, variant: str | None, basis: str
) -> None:
    said = profiles(capsys, "recommend", "--streams", str(streams), "--context", "32768", "--json")
    document = said.document
    assert (said.code, document["schema"]) == (0, "moet-boot/profile-recommend/v1")
    assert (document["profile"], document["variant"]) == (profile, variant)
    assert (document["recommended"]["profile"], document["recommended"]["basis"]) == (profile, basis)
    assert len(document["recommended"]["between"]) == (2 if basis == "interpolated" else 1)


def test_the_arguments_can_be_used_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    recommended = profiles(capsys, "recommend", "--streams", "8", "--context", "65536", "--json").document[
        "recommended"
    ]
    assert recommended["arguments"] == [
        "--profile",
        "rtx6000-b",
        "--variant",
        "mtp",
        "--set",
        "max-model-len=65536",
    ]


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "recommend", "--streams", "1", "--context", "300000")
    assert said.out.startswith("rtx6000-b/mtp\n")
    assert "moet-boot preflight --profile rtx6000-b --variant mtp --set max-model-len=300000" in said.words
    assert "else rtx6000-b/plain: 89 tok/s (measured)" in said.words
    assert "warning: nothing was measured at 300,000 tokens" in said.err


def test_for_a_recorded_machine(capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = str(FIELD / "spark-tn-nvml-not-supported.json")
    said = profiles(capsys, "recommend", "--streams", "1", "--snapshot", snapshot, "--json")
    assert (said.document["profile"], said.document["variant"]) == ("spark", "mtp")


@pytest.mark.parametrize(
    "argv",
    [
        ["--streams", "0"],
        ["--streams", "-3"],
        ["--context", "0"],
        ["--context", "9999999"],
        ["--streams", "many"],
        ["--snapshot", "/nowhere.json"],
    ],
)
def test_what_cannot_be_answered(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    said = profiles(capsys, "recommend", *argv)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
