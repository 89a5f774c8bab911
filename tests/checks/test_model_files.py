from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.exits import Exit
from tests.checks.cases import GONE, case_of, judge_by, said

OTHER = "0" * 40
LFS = "version https://git-lfs.github.com/spec/v1"


def checkpoint(**changes: Any) -> dict[str, Any]:
    return {f"checkpoint.{key}": value for key, value in changes.items()}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="there"),
        pytest.param(checkpoint(exists=False, shards_present=0), "refuse", id="no-folder"),
        pytest.param(checkpoint(shards_present=0, shards=[]), "refuse", id="no-shard"),
        pytest.param(checkpoint(shards_present=GONE, shards=[{"name": "a", "size": 1}]), "pass", id="by-list"),
        pytest.param({"checkpoint": None}, "skipped", id="not-looked-at"),
    ],
)
def test_present(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MODEL.PRESENT", case_of("spark", changes))
    assert finding.status == status
    if status == "refuse":
        assert finding.code is Exit.ARTEFACT_MISSING
        assert not finding.acceptable
        assert "moet-boot fetch --profile spark" in finding.fix


def test_a_model_of_ones_own_is_not_fetched() -> None:
    finding = judge_by("MODEL.PRESENT", case_of("demo", checkpoint(exists=False)))
    assert "fetch" not in finding.fix
    assert "make or copy it again, or name the place where it lies: --path checkpoint=PATH" in finding.fix


@pytest.mark.parametrize(
    ("changes", "status", "code", "words"),
    [
        pytest.param({}, "pass", None, ["46 of 46", "a summary"], id="whole"),
        pytest.param(checkpoint(shards=[{"name": "a", "size": 5}]), "pass", None, ["each shard's size"], id="by-list"),
        pytest.param(
            checkpoint(lfs_pointers=46, total_bytes=6210), "refuse", 5, ["lfs pointers", "git lfs pull"], id="pointers"
        ),
        pytest.param(checkpoint(lfs_pointers=1), "refuse", 5, ["1 shards are git-lfs"], id="one-pointer"),
        pytest.param(
            checkpoint(lfs_pointers=None, shards=[{"name": "a", "size": 135, "lfs_pointer": True}]),
            "refuse",
            5,
            ["pointer"],
            id="pointer-by-shard",
        ),
        pytest.param(
            {**checkpoint(lfs_pointers=None), "files.1": {"path": "/m/a.safetensors", "size": 135, "head": LFS}},
            "refuse",
            5,
            ["pointer"],
            id="pointer-by-head",
        ),
        pytest.param({"files.0.head": LFS, "files.0.size": 135}, "pass", None, [], id="the-plane-file-is-one"),
        pytest.param(checkpoint(shards_present=45), "refuse", 6, ["45 of 46"], id="one-missing"),
        pytest.param(
            checkpoint(shards_present=44, missing=["model-00003.safetensors", "b"]),
            "refuse",
            6,
            ["2 shards are missing, such as model-00003"],
            id="missing-by-name",
        ),
        pytest.param(checkpoint(total_bytes=120_000_000_000), "refuse", 5, ["truncated"], id="too-few-bytes"),
        pytest.param(
            checkpoint(total_bytes=120_000_000_000, incomplete_blobs=3), "refuse", 5, ["3 downloads"], id="unfinished"
        ),
        pytest.param(
            checkpoint(shards_present=30, incomplete_blobs=3), "refuse", 6, ["30 of 46", "incomplete"], id="downloading"
        ),
        pytest.param(checkpoint(incomplete_blobs=1), "warn", None, ["leftovers"], id="a-leftover"),
        pytest.param(
            checkpoint(problems=["model-00007 is 12 bytes short", "x"]), "refuse", 5, ["(and 1 more)"], id="damage"
        ),
        pytest.param(checkpoint(config_ok=False), "refuse", 5, ["config.json"], id="no-config"),
        pytest.param(checkpoint(index_declares=64, shards_present=64), "warn", None, ["64 shards"], id="other-layout"),
        pytest.param(checkpoint(index_declares=None), "pass", None, [], id="no-index"),
        pytest.param(checkpoint(exists=False), "skipped", None, ["model.present"], id="not-there"),
    ],
)
def test_complete(changes: dict[str, Any], status: str, code: int | None, words: list[str]) -> None:
    finding = judge_by("MODEL.COMPLETE", case_of("spark", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)
    if code is not None:
        assert finding.code == code
        assert not finding.acceptable


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, "pass", id="pinned"),
        pytest.param(checkpoint(revision=OTHER), "refuse", id="other-revision"),
        pytest.param(checkpoint(repo="somebody/else"), "refuse", id="other-repository"),
        pytest.param(checkpoint(repo="DeepSeek-AI/deepseek-v4-flash"), "pass", id="case-of-letters"),
        pytest.param(checkpoint(revision=None), "warn", id="not-known"),
        pytest.param(checkpoint(revision=None, repo=None), "warn", id="nothing-known"),
        pytest.param(checkpoint(exists=False), "skipped", id="not-there"),
    ],
)
def test_revision(changes: dict[str, Any], status: str) -> None:
    finding = judge_by("MODEL.REVISION", case_of("spark", changes))
    assert finding.status == status
    if status == "refuse":
        assert finding.code is Exit.ARTEFACT_DAMAGED
        assert finding.acceptable


def test_a_profile_that_pins_nothing_asks_for_nothing() -> None:
    assert judge_by("MODEL.REVISION", case_of("demo")).status is Status.SKIPPED


@pytest.mark.parametrize("id_", ["MODEL.PRESENT", "MODEL.COMPLETE", "MODEL.REVISION"])
def test_on_a_live_machine_a_checkpoint_that_cannot_be_read_is_a_warning(id_: str) -> None:
    case = case_of("spark", {"checkpoint": None}, sight=Sight.LIVE, errors={"checkpoint": "Permission denied"})
    finding = judge_by(id_, case)
    assert finding.status is Status.WARN
    assert "Permission denied" in finding.measured
