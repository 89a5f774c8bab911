import pytest

from moet_boot.planes.server_version import ServerVersion
from moet_boot.profile.rules.facts import DEFAULT_SEQS, read_facts
from tests.profile.shipped import MTP, shipped, with_sets


def test_configuration_a_as_the_server_reads_it() -> None:
    facts = read_facts(shipped("rtx6000-a"))
    assert facts.server is ServerVersion.V1
    assert (facts.seqs, facts.n_spec, facts.context, facts.pool_gib, facts.gate) == (1, 0, 262144, 6, True)
    pools = facts.pools()
    assert pools is not None
    assert (pools.base_slots, pools.fp4_slots, pools.force_pool, pools.prefill_tokens) == (None, 512, True, 96)


def test_configuration_b_has_no_tier() -> None:
    facts = read_facts(shipped("rtx6000-b"))
    pools = facts.pools()
    assert pools is not None
    assert (pools.base_slots, pools.fp4_slots, facts.pool_gib, facts.gate) == (None, None, 0, False)


@pytest.mark.parametrize("name", ["spark", "demo"])
def test_without_the_2_bit_path_there_are_no_pools(name: str) -> None:
    facts = read_facts(shipped(name))
    assert (facts.w2, facts.pools(), facts.planes_path) == (None, None, False)


def test_switched_off_there_are_none_either() -> None:
    assert read_facts(with_sets("rtx6000-a", "VLLM_MOE_W2=0")).pools() is None


@pytest.mark.parametrize(
    ("sets", "drafts", "problem"),
    [
        ([MTP], 2, ""),
        (['speculative-config={"num_speculative_tokens":5}'], 5, ""),
        (["speculative-config="], 0, ""),
        (["speculative-config=null"], 0, ""),
        (["speculative-config={}"], 0, "num_speculative_tokens is None"),
        (["speculative-config=[]"], 0, "'[]' is not a JSON object"),
        (['speculative-config={"num_speculative_tokens":-1}'], 0, "num_speculative_tokens is -1"),
    ],
)
def test_drafts(sets: list[str], drafts: int, problem: str) -> None:
    facts = read_facts(with_sets("rtx6000-b", *sets))
    assert (facts.n_spec, facts.spec_problem) == (drafts, problem)


def test_what_nobody_says_is_the_servers_default() -> None:
    facts = read_facts(with_sets("rtx6000-a", "max-num-seqs="))
    assert facts.seqs == DEFAULT_SEQS
    assert facts.whole("--no-such-flag", 7) == 7
    assert facts.whole("--trust-remote-code", 7) == 7, "a switch is no number"


@pytest.mark.parametrize(
    ("sets", "slots"),
    [
        (["VLLM_MOE_W2_DELTA_GB=2"], 170),
        (["VLLM_MOE_W2_DELTA_GB=11.5"], 981),
        (["VLLM_MOE_W2_DELTA_GB=11.5", "VLLM_MOE_W2_BASE_CACHE_GB=10"], 923),
        (["VLLM_MOE_W2_DELTA_GB=6", "VLLM_MOE_W2_DELTA_SPLIT=1"], 819),
        (["VLLM_MOE_W2_DELTA_GB=auto"], 0),
        (["VLLM_MOE_W2_DELTA_GB="], 170),
        (["VLLM_MOE_W2_DELTA_GB=0"], None),
        (["VLLM_MOE_W2_DELTA=0"], None),
    ],
)
def test_slots_of_the_fp4_pool(sets: list[str], slots: int | None) -> None:
    pools = read_facts(with_sets("rtx6000-a", *sets)).pools()
    assert pools is not None
    assert pools.fp4_slots == slots


def test_an_environment_that_cannot_be_read_is_kept_as_a_problem() -> None:
    profile = shipped("rtx6000-a")
    setting = profile.env["VLLM_MOE_W2_DELTA_GB"].model_copy(update={"value": "lots"})
    facts = read_facts(profile.model_copy(update={"env": {**profile.env, "VLLM_MOE_W2_DELTA_GB": setting}}))
    assert facts.w2 is None
    assert "VLLM_MOE_W2_DELTA_GB='lots'" in facts.w2_problem


def test_a_server_of_no_known_version_is_judged_by_the_stricter_one() -> None:
    profile = shipped("rtx6000-a")
    unknown = profile.model_copy(update={"engine": profile.engine.model_copy(update={"formats": None})})
    assert read_facts(unknown).server is ServerVersion.V2


@pytest.mark.parametrize(("name", "passes"), [("spark", False), ("rtx6000-a", True), ("demo", True)])
def test_whether_flags_reach_the_server(name: str, passes: bool) -> None:
    assert read_facts(shipped(name)).flags_pass is passes


@pytest.mark.parametrize(("text", "value"), [("64", 64), ("-1", -1), ("0", 0)])
def test_a_whole_number_of_the_environment(text: str, value: int) -> None:
    facts = read_facts(with_sets("rtx6000-a", f"VLLM_MOE_W2_GATE_MAX_PROMOTE={text}"))
    assert facts.knob("VLLM_MOE_W2_GATE_MAX_PROMOTE") == value


def test_unset_it_is_the_default_of_that_server() -> None:
    facts = read_facts(with_sets("rtx6000-a", "VLLM_MOE_W2_GATE_MAX_PROMOTE="))
    assert facts.knob("VLLM_MOE_W2_GATE_MAX_PROMOTE") == 64
    assert facts.knob("VLLM_MOE_W2_FP_MAX") == 8
