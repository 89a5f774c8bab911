import pytest

from moet_boot.errors import UsageError
from moet_boot.profile.explain import Explained, explain
from moet_boot.profile.model import Profile
from tests.profile.shipped import VARIANTS, shipped, with_sets


def one(profile: Profile, key: str) -> Explained:
    (found,) = explain(profile, key)
    return found


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_everything_that_a_profile_sets_is_explained(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    keys = {found.key for found in explain(profile)}
    assert {f"env.{key}" for key in profile.env} <= keys
    assert {f"flags.{key}" for key in profile.flags} <= keys
    assert {f"memory.terms.{key}" for key in profile.memory.terms} <= keys
    assert {f"deadlines.{key}" for key in profile.deadlines} <= keys
    assert {f"artefacts.{key}" for key in profile.artefacts} <= keys
    assert {"hardware", "engine", "memory", "memory.kv_cache", "guard", "restart"} <= keys
    assert len(keys) == len(explain(profile)), "every decision once"


def test_a_setting_with_all_that_is_known_of_it() -> None:
    found = one(shipped("rtx6000-a"), "VLLM_MOE_W2_DELTA_GB")
    assert (found.key, found.section, found.name) == ("env.VLLM_MOE_W2_DELTA_GB", "env", "VLLM_MOE_W2_DELTA_GB")
    assert (found.value, found.layer, found.overrides) == ("6", "profile", ())
    assert "438" in found.why
    assert "7 runs out of memory" in (found.measured or "")
    assert "pull request 16" in found.source


def test_who_won_and_who_lost() -> None:
    found = one(with_sets("rtx6000-b", "max-num-seqs=64", variant="mtp"), "max-num-seqs")
    assert (found.value, found.layer, found.overrides) == ("64", "flag", ("variant=192", "profile=256"))
    assert found.replaced_why == shipped("rtx6000-b", "mtp").flags["--max-num-seqs"].why


def test_what_is_left_out_on_purpose_says_why() -> None:
    found = one(shipped("rtx6000-a"), "speculative-config")
    assert found.value == "absent"
    assert "1,315" in found.why


def test_a_part_that_was_moved_names_its_loser() -> None:
    found = one(with_sets("demo", "engine=/x/vllm"), "engine")
    assert (found.layer, found.overrides) == ("flag", ("command: profile=.demo/engine/bin/vllm",))
    assert "command=/x/vllm serve" in found.value


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("max_num_seqs", ["flags.--max-num-seqs"]),
        ("--max-num-seqs", ["flags.--max-num-seqs"]),
        ("flags.--max-num-seqs", ["flags.--max-num-seqs"]),
        ("flags.max-num-seqs", ["flags.--max-num-seqs"]),
        ("VLLM_MOE_W2", ["env.VLLM_MOE_W2"]),
        ("vllm_moe_w2", ["env.VLLM_MOE_W2"]),
        ("memory.terms.planes", ["memory.terms.planes"]),
        ("guard", ["guard"]),
        ("hardware", ["hardware", "hardware.gpu"]),
        ("delta_gb", ["env.VLLM_MOE_W2_DELTA_GB"]),
        ("batched", ["flags.--max-num-batched-tokens"]),
    ],
)
def test_a_key_however_it_is_written(key: str, expected: list[str]) -> None:
    assert [found.key for found in explain(shipped("rtx6000-a"), key)] == expected


def test_a_table_is_all_that_is_in_it() -> None:
    profile = shipped("rtx6000-a")
    assert len(explain(profile, "env")) == len(profile.env)
    assert len(explain(profile, "deadlines")) == len(profile.deadlines)


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("VLLM_MOE_W2_DETLA_GB", "did you mean VLLM_MOE_W2_DELTA_GB?"),
        ("max-num-sequences", "did you mean --max-num-seqs?"),
        ("gurad", "did you mean guard?"),
        ("qqqqqqqq", "`moet-boot profiles explain rtx6000-a` lists what it decides"),
        ("", "lists what it decides"),
        ("--", "lists what it decides"),
    ],
)
def test_a_key_that_the_profile_does_not_have(key: str, fix: str) -> None:
    with pytest.raises(UsageError, match="profile rtx6000-a decides nothing about") as caught:
        explain(shipped("rtx6000-a"), key)
    assert fix in caught.value.fix
