import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.profile.rules import RULES, check_rules
from tests.profile.rules.verdicts import judged
from tests.profile.shipped import MTP, VARIANTS, shipped, with_sets

BREAKING = [
    ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=7", "RULE.POOL_CEILING", "run out of memory while the model loads"),
    ("rtx6000-a", "VLLM_MOE_W2=0", "RULE.MASTER_SWITCH", "149 GB into 96 GB"),
    ("rtx6000-a", "VLLM_MOE_W2=", "RULE.MASTER_SWITCH", "149 GB into 96 GB"),
    ("rtx6000-a", "max-num-batched-tokens=2048", "RULE.POOL_BATCH", "65 s"),
    ("rtx6000-a", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1", "RULE.UTILIZATION", "0.06 GiB of graphs"),
    ("rtx6000-a", "kv-cache-dtype=auto", "RULE.KV_DTYPE", "fp8_ds_mla"),
    ("rtx6000-a", "kv-cache-dtype=", "RULE.KV_DTYPE", "fp8_ds_mla"),
    ("rtx6000-a", "max-model-len=1000000", "RULE.CONTEXT", "913,920"),
    ("rtx6000-a", "tensor-parallel-size=2", "RULE.ONE_CARD", "no planes"),
    ("rtx6000-a", MTP, "RULE.MTP_MIN_P", "min_p"),
    ("rtx6000-a", "max-num-seqs=97", "RULE.PREFILL_T", "refuses to boot"),
    ("rtx6000-b", "max-model-len=1048577", "RULE.CONTEXT", "1,048,576"),
    ("rtx6000-b", "gpu-memory-utilization=0.96", "RULE.UTILIZATION", "0.06 GiB of graphs"),
    ("rtx6000-b", "VLLM_MOE_W2_NUM_LAYERS=40", "RULE.NUM_LAYERS", "3.19 GiB each"),
    ("rtx6000-b", "VLLM_MOE_W2_KS=7168", "RULE.KERNEL_SIZES", "kernels of this model"),
    ("rtx6000-b", "max-num-seqs=0", "RULE.RANGES", "boot fails later"),
    ("spark", "max-model-len=32768", "RULE.ARGUMENTS", "not arrive"),
    ("demo", "gpu-memory-utilization=1.5", "RULE.RANGES", "boot fails later"),
]
"""(profile, override, the rule that refuses it, a part of the published figure or the reason)."""


@pytest.mark.parametrize(("name", "override", "rule", "figure"), BREAKING)
def test_an_override_that_breaks_a_rule_is_refused_with_the_figure(
    name: str, override: str, rule: str, figure: str
) -> None:
    result = judged(name, override)[rule]
    assert result.status == "refuse"
    assert figure in result.why
    assert result.fix
    assert result.source


@pytest.mark.parametrize(("name", "override", "rule", "figure"), BREAKING)
def test_the_same_rule_passes_or_is_silent_without_it(name: str, override: str, rule: str, figure: str) -> None:
    del override, figure
    result = judged(name).get(rule)
    assert result is None or result.status == "pass"


@pytest.mark.parametrize(
    ("name", "breaking", "remedy", "rule"),
    [
        ("rtx6000-a", ["VLLM_MOE_W2_DELTA_GB=7"], "VLLM_MOE_W2_DELTA_GB=6", "RULE.POOL_CEILING"),
        ("rtx6000-a", ["max-num-batched-tokens=4096"], "max-num-batched-tokens=1024", "RULE.POOL_BATCH"),
        ("rtx6000-a", ["kv-cache-dtype=auto"], "kv-cache-dtype=fp8", "RULE.KV_DTYPE"),
        ("rtx6000-a", ["max-model-len=2000000"], "max-model-len=262144", "RULE.CONTEXT"),
        ("rtx6000-a", [MTP], "sampling.min_p=", "RULE.MTP_MIN_P"),
        ("rtx6000-a", ["max-num-seqs=97"], "VLLM_MOE_W2_PREFILL_T=97", "RULE.PREFILL_T"),
        ("rtx6000-b", ["gpu-memory-utilization=0.98"], "gpu-memory-utilization=0.95", "RULE.UTILIZATION"),
        ("rtx6000-b", ["VLLM_MOE_W2_NUM_LAYERS=2"], "VLLM_MOE_W2_NUM_LAYERS=", "RULE.NUM_LAYERS"),
    ],
)
def test_what_the_remedy_says_is_enough(name: str, breaking: list[str], remedy: str, rule: str) -> None:
    refused = judged(name, *breaking)[rule]
    assert refused.status == "refuse"
    assert remedy.partition("=")[0] in refused.fix
    mended = judged(name, *breaking, remedy).get(rule)
    assert mended is None or mended.status == "pass"


def test_ids_are_one_each_and_every_row_names_its_source() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.id.startswith("RULE.")
        assert rule.title
        assert rule.source


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_results_come_in_the_tables_order(name: str, variant: str | None) -> None:
    order = [rule.id for rule in RULES]
    found = [result.id for result in check_rules(shipped(name, variant))]
    assert found == sorted(found, key=order.index)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_pass_shows_what_was_seen_and_what_was_wanted(name: str, variant: str | None) -> None:
    for result in check_rules(shipped(name, variant)):
        assert result.measured, result.id
        assert result.required, result.id


def test_every_rule_can_warn_or_refuse() -> None:
    """A rule that nothing can break is no rule."""
    broken = {
        result.id
        for name, variant, sets in [
            *((name, None, [override]) for name, override, _, _ in BREAKING),
            ("rtx6000-b", None, ["VLLM_MOE_W2_PLANES_CACHE="]),
            ("rtx6000-b", None, ["VLLM_MOE_W2_ZERO_MODE=sign"]),
            ("rtx6000-b", None, ["VLLM_MOE_W2_BASE_CACHE_GB=1", "VLLM_MOE_W2_DELTA_GB=auto"]),
            ("rtx6000-b", None, ["VLLM_MOE_W2_DELTA_GB=", "VLLM_MOE_W2_GATE=1"]),
            ("rtx6000-b", None, ["VLLM_MOE_W2_GATE=1", "VLLM_MOE_W2_BASE_RAM_GB=4"]),
            ("rtx6000-a", None, ["max-num-seqs=4", "VLLM_MOE_W2_GATE_MAX_PROMOTE=0", "block-size=64"]),
            ("rtx6000-a", None, ["enable-eplb=true", 'speculative-config={"method":"x"}']),
            ("rtx6000-b", "mtp", ["max-num-seqs=193"]),
        ]
        for result in check_rules(with_sets(name, *sets, variant=variant))
        if result.status != "pass"
    }
    tested_apart = {"RULE.KNOBS", "RULE.MODEL_PATH", "RULE.RESIDENT_FIT", "RULE.DTYPE", "RULE.EXL3"}
    assert {rule.id for rule in RULES} - broken == tested_apart


settings = st.sampled_from(
    [
        "VLLM_MOE_W2_DELTA_GB=0",
        "VLLM_MOE_W2_DELTA_GB=5",
        "VLLM_MOE_W2_DELTA_GB=auto",
        "VLLM_MOE_W2_DELTA_GB=",
        "VLLM_MOE_W2_BASE_CACHE_GB=4",
        "VLLM_MOE_W2_STORE_DIR=",
        "VLLM_MOE_W2_PLANES_CACHE=",
        "VLLM_MOE_W2=0",
        "VLLM_MOE_W2_GATE=1",
        "VLLM_MOE_W2_GATE_FP_MAX=0",
        "VLLM_MOE_W2_PREFILL_T=-3",
        "max-num-seqs=",
        "max-num-seqs=8",
        "max-model-len=auto",
        "max-model-len=",
        "gpu-memory-utilization=",
        "kv-cache-dtype=",
        "speculative-config={}",
        "speculative-config=[1]",
        "speculative-config=7",
        MTP,
        "tensor-parallel-size=-1",
        "sampling.min_p=",
    ]
)


@given(name=st.sampled_from(VARIANTS), sets=st.lists(settings, max_size=5))
def test_no_combination_breaks_the_judgement(name: tuple[str, str | None], sets: list[str]) -> None:
    profile, variant = name
    known = [text for text in sets if profile in {"rtx6000-a", "rtx6000-b"} or "sampling" not in text]
    try:
        results = check_rules(with_sets(profile, *known, variant=variant))
    except UsageError:
        raise AssertionError(known) from None
    assert {result.status for result in results} <= {"pass", "warn", "refuse"}
    for result in results:
        assert result.status == "pass" or (result.why and result.fix)
