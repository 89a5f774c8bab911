import pytest

from moet_boot.profile.model import Profile
from moet_boot.profile.rules.facts import MODEL_CONTEXT, read_facts
from tests.profile.rules.verdicts import judged, of, status
from tests.profile.shipped import MTP, shipped, with_sets


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("fp8", "pass"),
        ("fp8_ds_mla", "warn"),
        ("fp8_e4m3", "warn"),
        ("fp8_e5m2", "refuse"),
        ("auto", "refuse"),
        ("bfloat16", "refuse"),
        ("", "refuse"),
    ],
)
@pytest.mark.parametrize("name", ["rtx6000-a", "rtx6000-b"])
def test_the_kv_caches_type(name: str, value: str, expected: str) -> None:
    assert status(judged(name, f"kv-cache-dtype={value}"), "RULE.KV_DTYPE") == expected


@pytest.mark.parametrize("name", ["demo", "spark"])
def test_another_model_or_another_image_is_not_asked_for_it(name: str) -> None:
    assert status(judged(name), "RULE.KV_DTYPE") is None


@pytest.mark.parametrize(("value", "expected"), [("256", "pass"), ("128", "warn"), ("", "warn")])
def test_the_block_size(value: str, expected: str) -> None:
    assert status(judged("rtx6000-a", f"block-size={value}"), "RULE.BLOCK_SIZE") == expected


@pytest.mark.parametrize(
    ("name", "length", "expected"),
    [
        ("rtx6000-a", "262144", "pass"),
        ("rtx6000-a", "262145", "warn"),
        ("rtx6000-a", "913920", "warn"),
        ("rtx6000-a", "913921", "refuse"),
        ("rtx6000-a", "auto", "warn"),
        ("rtx6000-a", "-1", "warn"),
        ("rtx6000-a", "", "refuse"),
        ("rtx6000-b", "32768", "pass"),
        ("rtx6000-b", "307200", "pass"),
        ("rtx6000-b", "307201", "warn"),
        ("rtx6000-b", "1048576", "warn"),
        ("rtx6000-b", "1048577", "refuse"),
        ("rtx6000-b", "", "warn"),
        ("demo", "256", None),
    ],
)
def test_how_much_context_boots_and_is_found_again(name: str, length: str, expected: str | None) -> None:
    assert status(judged(name, f"max-model-len={length}"), "RULE.CONTEXT") == expected


def test_the_needle_figures_are_in_the_warning() -> None:
    assert (
        "192K about 92%, 256K about 90%, 288K about 75%"
        in judged("rtx6000-a", "max-model-len=300000")["RULE.CONTEXT"].why
    )


def test_nothing_said_is_the_models_own_context() -> None:
    found = judged("rtx6000-a", "max-model-len=")["RULE.CONTEXT"]
    assert found.measured == "1,048,576 tokens (the model's own: nothing else is asked for)"


@pytest.mark.parametrize(
    ("share", "estimate", "expected"),
    [
        ("0.99", "0", "pass"),
        ("0.99", "1", "refuse"),
        ("0.99", "", "refuse"),
        ("0.95", "1", "pass"),
        ("0.951", "1", "refuse"),
        ("", "1", "pass"),
    ],
)
def test_utilization_and_the_graph_estimate(share: str, estimate: str, expected: str) -> None:
    results = judged(
        "rtx6000-a", f"gpu-memory-utilization={share}", f"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS={estimate}"
    )
    assert status(results, "RULE.UTILIZATION") == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"method":"deepseek_mtp","num_speculative_tokens":2}', "pass"),
        ('{"method":"mtp","num_speculative_tokens":1}', "pass"),
        ('{"method":"ngram","num_speculative_tokens":2}', "warn"),
        ('{"method":"deepseek_mtp"}', "refuse"),
        ('{"method":"deepseek_mtp","num_speculative_tokens":0}', "refuse"),
        ('{"method":"deepseek_mtp","num_speculative_tokens":true}', "refuse"),
        ('{"method":"deepseek_mtp","num_speculative_tokens":"2"}', "refuse"),
        ("[1]", "refuse"),
        ("7", "refuse"),
    ],
)
def test_the_speculative_config(config: str, expected: str) -> None:
    assert status(judged("rtx6000-b", f"speculative-config={config}"), "RULE.SPECULATION") == expected


@pytest.mark.parametrize("text", ["", "null"])
def test_no_speculation_is_none(text: str) -> None:
    results = judged("rtx6000-b", f"speculative-config={text}", variant="mtp")
    assert status(results, "RULE.SPECULATION") is None
    assert status(results, "RULE.MTP_MIN_P") is None


def test_a_file_with_broken_json_is_refused() -> None:
    profile = shipped("rtx6000-b", "mtp")
    setting = profile.flags["--speculative-config"].model_copy(update={"value": "{oops"})
    broken = profile.model_copy(update={"flags": {**profile.flags, "--speculative-config": setting}})
    found = of(broken)["RULE.SPECULATION"]
    assert (found.status, found.measured) == ("refuse", "'{oops' is not JSON")


@pytest.mark.parametrize(
    ("name", "variant", "sets", "expected"),
    [
        ("rtx6000-b", "mtp", [], "pass"),
        ("spark", "mtp", [], "pass"),
        ("rtx6000-b", None, [MTP], "refuse"),
        ("rtx6000-b", None, [MTP, "sampling.min_p="], "pass"),
        ("rtx6000-b", None, [MTP, "sampling.min_p=0"], "pass"),
        ("rtx6000-b", "mtp", ["sampling.min_p=0.05"], "refuse"),
        ("rtx6000-b", None, [], None),
    ],
)
def test_speculation_and_min_p(name: str, variant: str | None, sets: list[str], expected: str | None) -> None:
    assert status(judged(name, *sets, variant=variant), "RULE.MTP_MIN_P") == expected


@pytest.mark.parametrize(
    ("seqs", "expected"), [("192", "pass"), ("193", "warn"), ("256", "warn"), ("", "warn"), ("1", "pass")]
)
def test_speculation_for_many_sequences(seqs: str, expected: str) -> None:
    found = judged("rtx6000-b", f"max-num-seqs={seqs}", variant="mtp")["RULE.MTP_SEQS"]
    assert found.status == expected
    assert ("1122/752 at 64" in found.why) is (expected == "warn")


@pytest.mark.parametrize(
    ("variant", "sets", "expected"),
    [
        (None, [], "pass"),
        ("mtp", [], "warn"),
        (None, ["port=9000"], "warn"),
        (None, ["max-model-len=1000"], "refuse"),
        ("mtp", ["speculative-config="], "refuse"),
        (None, ["VLLM_LOGGING_LEVEL=DEBUG"], "pass"),
        (None, ["path.checkpoint=/x", "image=mine"], "pass"),
    ],
)
def test_flags_for_an_image_that_takes_none(variant: str | None, sets: list[str], expected: str) -> None:
    assert status(judged("spark", *sets, variant=variant), "RULE.ARGUMENTS") == expected


@pytest.mark.parametrize("name", ["rtx6000-a", "demo"])
def test_where_flags_arrive_nothing_is_said(name: str) -> None:
    assert status(judged(name, "max-num-seqs=1"), "RULE.ARGUMENTS") is None


def on_card(profile: Profile, gib: float) -> Profile:
    assert profile.hardware.gpu is not None
    gpu = profile.hardware.gpu.model_copy(update={"memory_bytes": round(gib * (1 << 30))})
    return profile.model_copy(update={"hardware": profile.hardware.model_copy(update={"gpu": gpu})})


@pytest.mark.parametrize(
    ("gib", "sets", "expected"),
    [
        (95, [], "pass"),
        (80, [], "pass"),
        (74, [], "refuse"),
        (74, ["VLLM_MOE_W2_FORCE_RESIDENT=1"], "warn"),
        (74, ["VLLM_MOE_W2_BASE_CACHE_GB=10"], None),
        (76, [MTP], "refuse"),
        (76, [], "pass"),
        (80, ["max-model-len=1000000"], "refuse"),
    ],
)
def test_resident_planes_on_an_empty_card(gib: float, sets: list[str], expected: str | None) -> None:
    assert status(of(on_card(with_sets("rtx6000-b", *sets), gib)), "RULE.RESIDENT_FIT") == expected


def test_published_maxima_are_not_refused_by_the_reckoning() -> None:
    """Both were seen to boot: a derived figure must not say otherwise."""
    assert status(judged("rtx6000-a", "max-model-len=913920"), "RULE.RESIDENT_FIT") == "pass"
    assert status(judged("rtx6000-b", "max-model-len=1048576"), "RULE.RESIDENT_FIT") == "pass"


@pytest.mark.parametrize(
    ("sets", "context"), [([], 262144), (["max-model-len=auto"], MODEL_CONTEXT), (["max-model-len="], MODEL_CONTEXT)]
)
def test_the_context_that_counts(sets: list[str], context: int) -> None:
    assert read_facts(with_sets("rtx6000-a", *sets)).context == context
