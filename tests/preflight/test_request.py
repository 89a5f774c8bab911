from pathlib import Path

import pytest

from moet_boot.errors import UsageError
from moet_boot.preflight import Request, Verify, prepare, read_request


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


def test_an_argument_that_is_a_setting_is_judged_like_one() -> None:
    request = read_request("rtx6000-b", dry_run=True, extra=["--port", "9001", "--kv-cache-dtype=bfloat16", "--mine"])
    prepared = prepare(request, env={})
    assert (prepared.plan.port, prepared.plan.argv[-1]) == (9001, "--mine")
    assert [finding.id for finding in prepared.verdict.refusals] == ["RULE.KV_DTYPE"]


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
