from typing import Literal

import pytest

from moet_boot.profile.model import Profile, Setting
from tests.profile.rules.verdicts import judged, of, status
from tests.profile.shipped import shipped, with_sets


def of_version(profile: Profile, version: Literal["v1", "v2"]) -> Profile:
    return profile.model_copy(update={"engine": profile.engine.model_copy(update={"formats": version})})


def with_env(profile: Profile, **values: str) -> Profile:
    """Settings as a file would have them: without the typing of --set."""
    extra = {name: Setting(value=text, why="w", source="s") for name, text in values.items()}
    return profile.model_copy(update={"env": {**profile.env, **extra}})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("gpu-memory-utilization=1", "pass"),
        ("gpu-memory-utilization=1.01", "refuse"),
        ("gpu-memory-utilization=0", "refuse"),
        ("gpu-memory-utilization=-0.5", "refuse"),
        ("max-num-seqs=0", "refuse"),
        ("max-num-seqs=-4", "refuse"),
        ("max-num-batched-tokens=0", "refuse"),
        ("max-model-len=0", "refuse"),
        ("max-model-len=-1", "pass"),
        ("max-model-len=auto", "pass"),
        ("max-model-len=999999999999", "refuse"),
        ("block-size=0", "refuse"),
        ("tensor-parallel-size=0", "refuse"),
    ],
)
@pytest.mark.parametrize("name", ["rtx6000-a", "demo"])
def test_numbers_that_no_server_can_use(name: str, setting: str, expected: str) -> None:
    assert status(judged(name, setting), "RULE.RANGES") == expected


def test_the_flag_and_its_range_are_named() -> None:
    found = judged("demo", "max-num-seqs=0")["RULE.RANGES"]
    assert (found.measured, found.required) == ("--max-num-seqs 0", "--max-num-seqs from 1 to 1,048,576")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("VLLM_MOE_W2_DELTA_GB", "lots", "refuse"),
        ("VLLM_MOE_W2_GATE", "yes", "refuse"),
        ("VLLM_MOE_W2_REPLAY_MODE", "strict", "refuse"),
        ("VLLM_MOE_W2_NO_SUCH", "1", "refuse"),
        ("VLLM_MOE_W2_ZERO_MODE", "alt", "pass"),
        ("VLLM_LOGGING_LEVEL", "anything", "pass"),
    ],
)
def test_a_file_may_not_say_what_the_server_misreads(name: str, text: str, expected: str) -> None:
    results = of(with_env(shipped("rtx6000-a"), **{name: text}))
    assert status(results, "RULE.KNOBS") == expected
    assert expected == "pass" or name in results["RULE.KNOBS"].measured


def test_a_value_on_which_the_server_dies_says_so() -> None:
    found = of(with_env(shipped("rtx6000-a"), VLLM_MOE_W2_DELTA_GB="lots"))["RULE.KNOBS"]
    assert "the server dies on it at start-up" in found.why


def test_a_v2_knob_is_right_for_a_v2_server() -> None:
    profile = of_version(with_env(shipped("rtx6000-a"), VLLM_MOE_W2_REPLAY_MODE="strict"), "v2")
    assert status(of(profile), "RULE.KNOBS") == "pass"


@pytest.mark.parametrize("name", ["spark", "demo"])
def test_without_knobs_there_is_nothing_to_read(name: str) -> None:
    assert status(judged(name), "RULE.KNOBS") is None


@pytest.mark.parametrize(
    ("layers", "expected"), [("43", "pass"), ("42", "refuse"), ("0", "refuse"), ("44", "warn"), ("", None)]
)
def test_the_number_of_layers(layers: str, expected: str | None) -> None:
    assert status(judged("rtx6000-a", f"VLLM_MOE_W2_NUM_LAYERS={layers}"), "RULE.NUM_LAYERS") == expected


@pytest.mark.parametrize(
    ("sets", "version", "expected"),
    [
        ([], "v1", "pass"),
        (["enable-expert-parallel=true"], "v1", "warn"),
        (["enable-expert-parallel=true"], "v2", "refuse"),
        (["enable-eplb=true"], "v1", "warn"),
        (["enable-eplb=true"], "v2", "refuse"),
        (["enable-dbo=true"], "v1", "warn"),
        (["enable-dbo=true"], "v2", "refuse"),
        (["enable-dbo=true", "VLLM_MOE_W2_BASE_CACHE_GB=10"], "v1", "refuse"),
        (["ubatch-size=2"], "v2", "refuse"),
        (["enable-dbo=false"], "v2", "pass"),
        (["enable-dbo=true", "VLLM_MOE_W2=0"], "v2", None),
    ],
)
def test_what_splits_experts_or_batches(sets: list[str], version: Literal["v1", "v2"], expected: str | None) -> None:
    assert status(of(of_version(with_sets("rtx6000-b", *sets), version)), "RULE.PARALLEL") == expected


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([], "pass"),
        (["tensor-parallel-size=1"], "pass"),
        (["tensor-parallel-size=2"], "refuse"),
        (["pipeline-parallel-size=2"], "refuse"),
        (["dp=2"], "refuse"),
    ],
)
def test_a_profile_of_one_card(sets: list[str], expected: str) -> None:
    assert status(judged("rtx6000-a", *sets), "RULE.ONE_CARD") == expected


def test_two_cards_for_a_profile_of_two() -> None:
    profile = with_sets("rtx6000-a", "tp=2")
    assert profile.hardware.gpu is not None
    gpu = profile.hardware.gpu.model_copy(update={"count": 2})
    two = profile.model_copy(update={"hardware": profile.hardware.model_copy(update={"gpu": gpu})})
    assert status(of(two), "RULE.ONE_CARD") == "pass"


@pytest.mark.parametrize("name", ["demo", "spark"])
def test_ranks_without_a_gpu_or_without_arguments_are_not_counted(name: str) -> None:
    assert status(judged(name), "RULE.ONE_CARD") is None


@pytest.mark.parametrize(
    ("value", "version", "expected"),
    [
        ("bfloat16", "v2", "pass"),
        ("auto", "v2", "pass"),
        ("float16", "v2", "refuse"),
        ("float16", "v1", None),
        ("", "v2", None),
    ],
)
def test_the_models_type(value: str, version: Literal["v1", "v2"], expected: str | None) -> None:
    profile = of_version(with_sets("rtx6000-a", f"dtype={value}"), version)
    assert status(of(profile), "RULE.DTYPE") == expected


@pytest.mark.parametrize(
    ("sets", "knobs", "expected"),
    [
        (["enforce-eager=true"], {}, "pass"),
        ([], {"VLLM_MOE_W2_EXL3_CUDAGRAPH": "1"}, "pass"),
        ([], {}, "refuse"),
        (["enforce-eager=true", "VLLM_MOE_W2_BASE_CACHE_GB=10"], {}, "refuse"),
        (["enforce-eager=true", "VLLM_MOE_W2_DELTA_SPLIT=1"], {}, "refuse"),
        (["enforce-eager=true", "tp=2"], {}, "refuse"),
    ],
)
def test_exl3_stands_alone(sets: list[str], knobs: dict[str, str], expected: str) -> None:
    profile = with_env(with_sets("rtx6000-b", *sets), VLLM_MOE_W2_EXL3_BASE="1", **knobs)
    assert status(of(of_version(profile, "v2")), "RULE.EXL3") == expected


def test_exl3_is_nothing_to_a_v1_server() -> None:
    profile = with_env(shipped("rtx6000-b"), VLLM_MOE_W2_EXL3_BASE="1")
    assert status(of(profile), "RULE.EXL3") is None
    assert status(of(profile), "RULE.KNOBS") == "refuse"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096,2048", "pass"),
        ("7168, 4096 ,2048", "pass"),
        ("4096", "refuse"),
        ("1024", "refuse"),
        ("40960,2048", "refuse"),
    ],
)
def test_the_kernels_of_this_model_are_loaded(text: str, expected: str) -> None:
    assert status(judged("rtx6000-a", f"VLLM_MOE_W2_KS={text}"), "RULE.KERNEL_SIZES") == expected


def test_without_a_list_the_default_has_them() -> None:
    assert "RULE.KERNEL_SIZES" not in judged("rtx6000-a")
