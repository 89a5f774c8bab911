import pytest

from moet_boot.profile.model import Profile
from tests.profile.rules.verdicts import judged, of, status
from tests.profile.shipped import shipped, with_sets


@pytest.mark.parametrize(
    ("name", "sets", "expected"),
    [
        ("rtx6000-a", [], "pass"),
        ("rtx6000-a", ["VLLM_MOE_W2=0"], "refuse"),
        ("rtx6000-a", ["VLLM_MOE_W2="], "refuse"),
        ("spark", [], None),
        ("demo", [], None),
    ],
)
def test_the_master_switch(name: str, sets: list[str], expected: str | None) -> None:
    assert status(judged(name, *sets), "RULE.MASTER_SWITCH") == expected


@pytest.mark.parametrize("text", ["true", "yes", "01", " 1"])
def test_anything_but_exactly_one_is_off(text: str) -> None:
    profile = shipped("rtx6000-a")
    setting = profile.env["VLLM_MOE_W2"].model_copy(update={"value": text})
    results = of(profile.model_copy(update={"env": {**profile.env, "VLLM_MOE_W2": setting}}))
    assert status(results, "RULE.MASTER_SWITCH") == "refuse"


@pytest.mark.parametrize(
    ("sets", "expected", "measured"),
    [
        ([], "pass", "planes cache in /planescache"),
        (["VLLM_MOE_W2_PLANES_CACHE="], "warn", "only VLLM_MOE_W2_STORE_DIR set"),
        (["VLLM_MOE_W2_PLANES_CACHE=", "VLLM_MOE_W2_STORE_DIR="], "warn", "VLLM_MOE_W2_PLANES_CACHE unset"),
        (["VLLM_MOE_W2_BASE_CACHE_GB=10"], "pass", "packs in /store"),
        (["VLLM_MOE_W2_BASE_CACHE_GB=10", "VLLM_MOE_W2_STORE_DIR="], "warn", "VLLM_MOE_W2_STORE_DIR unset"),
    ],
)
def test_one_store_serves_the_experts(sets: list[str], expected: str, measured: str) -> None:
    found = judged("rtx6000-a", *sets)["RULE.PLANES_SOURCE"]
    assert (found.status, found.measured) == (expected, measured)
    assert ("137.06 GiB for all 43" in found.why) is (expected == "warn")


def test_the_published_51_gib_are_called_an_observation() -> None:
    assert (
        "about 51 GiB were seen on one host"
        in judged("rtx6000-b", "VLLM_MOE_W2_PLANES_CACHE=")["RULE.PLANES_SOURCE"].why
    )


@pytest.mark.parametrize(
    ("rule", "sets", "expected"),
    [
        ("RULE.CACHE_BYPASSED", [], "pass"),
        ("RULE.CACHE_BYPASSED", ["VLLM_MOE_W2_BASE_CACHE_GB=10"], "warn"),
        ("RULE.CACHE_BYPASSED", ["VLLM_MOE_W2_PLANES_CACHE="], None),
        ("RULE.DELTA_UNSET", [], "pass"),
        ("RULE.DELTA_UNSET", ["VLLM_MOE_W2_DELTA_GB="], "warn"),
        ("RULE.DELTA_UNSET", ["VLLM_MOE_W2_DELTA_GB=", "VLLM_MOE_W2_DELTA=0"], None),
        ("RULE.DELTA_UNSET", ["VLLM_MOE_W2_DELTA_GB=", "VLLM_MOE_W2_BASE_CACHE_GB=10"], None),
        ("RULE.PINNED_STORE", [], "pass"),
        ("RULE.PINNED_STORE", ["VLLM_MOE_W2_STORE_DIR="], "warn"),
        ("RULE.PINNED_STORE", ["VLLM_MOE_W2_STORE_DIR=", "VLLM_MOE_W2_DELTA_GB=0"], None),
        ("RULE.DELTA_AUTO", ["VLLM_MOE_W2_DELTA_GB=auto"], "pass"),
        ("RULE.DELTA_AUTO", ["VLLM_MOE_W2_DELTA_GB=auto", "VLLM_MOE_W2_BASE_CACHE_GB=10"], "warn"),
        ("RULE.DELTA_AUTO", [], None),
        ("RULE.BASE_RAM", ["VLLM_MOE_W2_BASE_RAM_GB=8", "VLLM_MOE_W2_BASE_CACHE_GB=10"], "pass"),
        ("RULE.BASE_RAM", ["VLLM_MOE_W2_BASE_RAM_GB=8"], "warn"),
        (
            "RULE.BASE_RAM",
            ["VLLM_MOE_W2_BASE_RAM_GB=auto", "VLLM_MOE_W2_BASE_CACHE_GB=10", "VLLM_MOE_W2_STORE_DIR="],
            "warn",
        ),
        ("RULE.BASE_RAM", [], None),
    ],
)
def test_legal_and_wrong(rule: str, sets: list[str], expected: str | None) -> None:
    assert status(judged("rtx6000-a", *sets), rule) == expected


@pytest.mark.parametrize(
    ("base", "held"), [([], "129 GiB of pinned"), (["VLLM_MOE_W2_BASE_CACHE_GB=10"], "137.06 GiB of pageable")]
)
def test_what_a_tier_without_a_pack_holds_in_host_memory(base: list[str], held: str) -> None:
    assert held in judged("rtx6000-a", "VLLM_MOE_W2_STORE_DIR=", *base)["RULE.PINNED_STORE"].why


def serving(model: str) -> Profile:
    profile = shipped("rtx6000-a")
    return profile.model_copy(update={"engine": profile.engine.model_copy(update={"model": model})})


@pytest.mark.parametrize(
    ("model", "expected"),
    [("/model", "pass"), ("/model/", "warn"), ("model", "warn"), ("deepseek-ai/DeepSeek-V4-Flash", "warn")],
)
def test_the_spelling_of_the_models_path(model: str, expected: str) -> None:
    assert status(of(serving(model)), "RULE.MODEL_PATH") == expected


@pytest.mark.parametrize("rule", ["RULE.PLANES_SOURCE", "RULE.CACHE_BYPASSED", "RULE.DELTA_UNSET", "RULE.PINNED_STORE"])
def test_without_the_2_bit_path_no_store_matters(rule: str) -> None:
    assert status(of(with_sets("rtx6000-a", "VLLM_MOE_W2=0")), rule) is None


@pytest.mark.parametrize(
    ("name", "sets", "expected"),
    [
        ("rtx6000-a", [], "pass"),
        ("rtx6000-a", ["VLLM_MOE_W2_ZERO_MODE=auto", "VLLM_MOE_W2_DELTA_SPLIT=0"], "pass"),
        ("rtx6000-a", ["VLLM_MOE_W2_ZERO_MODE=sign"], "warn"),
        ("rtx6000-b", ["VLLM_MOE_W2_DELTA_SPLIT=1"], "warn"),
        ("rtx6000-a", ["VLLM_MOE_W2_BASE_CACHE_GB=10", "VLLM_MOE_W2_DELTA_SPLIT=1"], "warn"),
        ("rtx6000-b", ["VLLM_MOE_W2_PLANES_CACHE=", "VLLM_MOE_W2_DELTA_SPLIT=1"], None),
        ("spark", [], None),
        ("demo", [], None),
    ],
)
def test_what_a_published_cache_is_called(name: str, sets: list[str], expected: str | None) -> None:
    assert status(judged(name, *sets), "RULE.CACHE_IDENTITY") == expected


def test_each_setting_that_changes_the_identity_is_named() -> None:
    found = judged("rtx6000-a", "VLLM_MOE_W2_ZERO_MODE=alt", "VLLM_MOE_W2_DELTA_SPLIT=1")["RULE.CACHE_IDENTITY"]
    assert found.measured == "VLLM_MOE_W2_ZERO_MODE alt, VLLM_MOE_W2_DELTA_SPLIT 1"
    assert "137.06 GiB for all 43" in found.why
