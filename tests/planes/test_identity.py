import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.checkpoint_identity import read_checkpoint_files
from moet_boot.planes.identity import (
    CheckpointFiles,
    ShardStat,
    canonical_json,
    ckpt_id_v1,
    ckpt_id_v2,
    is_commit,
    looks_local,
    rank_suffix,
)
from moet_boot.planes.server_version import ServerVersion
from testing.golden import golden_json
from testing.skip_cases import CHECKPOINT

V1, V2 = ServerVersion.V1, ServerVersion.V2
GOLDEN_V1 = golden_json("vi_identity.json")["v1"]["v1_ckpt_id_by_model_string"]
GOLDEN_V2 = golden_json("vi_identity.json")["v2"]
REVISION = "60d8d70770c6776ff598c94bb586a859a38244f1"


def pinned_files() -> CheckpointFiles:
    """The golden checkpoint with the file times that the golden ids were made under."""
    found = read_checkpoint_files(CHECKPOINT)
    shards = tuple(ShardStat(name, name, **stat) for name, stat in GOLDEN_V2["pinned_stats"].items())
    return CheckpointFiles(found.config_sha256, found.index_sha256, shards)


@pytest.mark.parametrize(("key", "expected"), GOLDEN_V2["v2_ckpt_id_by_model_and_revision"].items())
def test_golden_v2_ids(key: str, expected: str) -> None:
    model, revision = key.split("|")
    assert ckpt_id_v2(model, revision, pinned_files() if looks_local(model) else None) == expected


def test_a_hub_id_needs_an_immutable_revision() -> None:
    with pytest.raises(UsageError, match="not 40 hex digits") as failure:
        ckpt_id_v2("deepseek-ai/DeepSeek-V4-Flash", "main", None)
    assert "VLLM_MOE_W2_CKPT_ID" in failure.value.fix


@pytest.mark.parametrize(
    "change",
    [
        {"size": 1},
        {"mtime_ns": 1},
        {"ctime_ns": 1},
        {"resolved_blob": "blob"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_a_shards_state_changes_the_v2_id(change: dict[str, object]) -> None:
    files = pinned_files()
    first = ShardStat(**{**vars(files.shards[0]), **change})
    touched = CheckpointFiles(files.config_sha256, files.index_sha256, (first, *files.shards[1:]))
    assert ckpt_id_v2("/model", "", touched) != ckpt_id_v2("/model", "", files)


def test_the_order_in_which_shards_were_found_does_not_matter() -> None:
    files = pinned_files()
    turned = CheckpointFiles(files.config_sha256, files.index_sha256, files.shards[::-1])
    assert ckpt_id_v2("/model", "", turned) == ckpt_id_v2("/model", "", files)


@pytest.mark.parametrize(
    ("model", "local"),
    [
        ("/model", True),
        ("/model/", True),
        ("./model", True),
        ("~/model", True),
        ("a/b/c", True),
        ("deepseek-ai/DeepSeek-V4-Flash", False),
        ("gpt2", False),
    ],
)
def test_local_models_and_hub_ids(model: str, *, local: bool) -> None:
    assert looks_local(model) is local


@pytest.mark.parametrize(
    ("revision", "commit"), [(REVISION, True), (REVISION[:-1], False), ("main", False), ("g" * 40, False)]
)
def test_commits(revision: str, *, commit: bool) -> None:
    assert is_commit(revision) is commit


def test_canonical_json_and_suffix() -> None:
    assert canonical_json({"b": 1, "a": None}) == '{"a":null,"b":1}'
    assert rank_suffix(3, 8) == "rank3of8"


@given(model=st.text(), index=st.binary())
def test_v1_ids_move_with_everything_they_are_made_of(model: str, index: bytes) -> None:
    if not model.isprintable():
        return
    assert ckpt_id_v1(model, index) != ckpt_id_v1(f"{model}/", index)
    assert ckpt_id_v1(model, index) != ckpt_id_v1(model, index + b"\n")
