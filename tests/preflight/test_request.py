from pathlib import Path

import pytest

from moet_boot.errors import UsageError
from moet_boot.preflight import Request, Verify, read_request


def test_only_a_profile() -> None:
    assert read_request("spark") == Request("spark")


def test_everything() -> None:
    request = read_request(
        "spark",
        variant="mtp",
        sets=["a=1"],
        snapshot=Path("m.json"),
        verify="full",
        dry_run=True,
        accepted=["MEM.FREE"],
        paths=["checkpoint=/data/a=b", "plane_file=/p"],
        runtime="process",
        engine="vllm",
        extra=["--x"],
    )
    assert request.paths == {"checkpoint": "/data/a=b", "plane_file": "/p"}
    assert (request.verify, request.runtime, request.engine) == (Verify.FULL, "process", "vllm")
    assert (request.sets, request.accepted, request.extra) == (("a=1",), ("MEM.FREE",), ("--x",))
    assert read_request("spark", runtime="docker").runtime == "docker"


@pytest.mark.parametrize("text", ["checkpoint", "=/data", "checkpoint=", "="])
def test_a_path_without_a_name(text: str) -> None:
    with pytest.raises(UsageError, match="expected NAME=PATH"):
        read_request("spark", paths=[text])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"verify": "ful"}, "did you mean full?"), ({"verify": "x"}, "quick"), ({"runtime": "dockr"}, "docker")],
)
def test_words_that_are_no_choice(options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_request("spark", **options)  # type: ignore[arg-type]
    assert words in raised.value.fix
