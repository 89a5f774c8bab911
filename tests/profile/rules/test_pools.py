"""The floors of the FP4 pool and the base pool, equal to what the servers themselves say."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from moet_boot.profile.model import Profile
from moet_boot.profile.rules.facts import read_facts
from tests.profile.rules.verdicts import judged, of, status
from tests.profile.shipped import MTP, with_sets

GOLDEN = json.loads((Path(__file__).parents[2] / "data/golden/ix_floors.json").read_text(encoding="utf-8"))
RULE_OF = {"FIRE FLOOR": "RULE.FIRE_FLOOR", "base floor": "RULE.POOL_FLOOR", "tight": "RULE.POOL_FLOOR"}


def of_version(profile: Profile, version: Literal["v1", "v2"]) -> Profile:
    return profile.model_copy(update={"engine": profile.engine.model_copy(update={"formats": version})})


def asked_for(row: dict[str, Any], version: Literal["v1", "v2"], force: int) -> Profile:
    """Configuration A or B with the golden row's pool, drafts and sequences."""
    delta = row["tier"] == "delta"
    pool = f"VLLM_MOE_W2_DELTA_GB={row['gib']}" if delta else f"VLLM_MOE_W2_BASE_CACHE_GB={row['gib']}"
    spec = f'speculative-config={{"method":"deepseek_mtp","num_speculative_tokens":{row["n_spec"]}}}'
    profile = with_sets(
        "rtx6000-a" if delta else "rtx6000-b",
        pool,
        f"VLLM_MOE_W2_FORCE_POOL={force}",
        f"max-num-seqs={row['max_num_seqs']}",
        spec if row["n_spec"] else "speculative-config=",
    )
    return of_version(profile, version)


@pytest.mark.parametrize("force", [0, 1])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_floors_are_the_servers_own(version: Literal["v1", "v2"], force: int) -> None:
    for row in GOLDEN["rows"]:
        profile = asked_for(row, version, force)
        pools = read_facts(profile).pools()
        assert pools is not None
        slots = pools.fp4_slots if row["tier"] == "delta" else pools.base_slots
        assert slots == row["n_slots"]
        expected, _, reason = row[f"{version}_force{force}"].partition(":")
        results = of(profile)
        rule = "RULE.FIRE_FLOOR" if row["tier"] == "delta" else "RULE.POOL_FLOOR"
        assert status(results, rule) == (expected if reason else "pass"), row
        assert not reason or RULE_OF[reason] == rule


def test_the_fire_floor_of_configuration_a() -> None:
    found = judged("rtx6000-a")["RULE.FIRE_FLOOR"]
    assert (found.measured, found.required) == ("512 slots", "438 slots (max-num-seqs 1, drafts 0)")


@pytest.mark.parametrize(
    ("sets", "floor"),
    [
        (["max-num-seqs=2"], 877),
        (["max-num-seqs=4"], 1754),
        (["max-num-seqs=64"], 1754),
        ([MTP], 1315),
        ([MTP, "max-num-seqs=4"], 5263),
        (["VLLM_MOE_W2_DELTA_GB=5"], 438),
        (["VLLM_MOE_W2_GATE_FP_MAX=9"], 980),
    ],
)
def test_below_the_fire_floor_is_a_warning_of_a_v1_server(sets: list[str], floor: int) -> None:
    found = judged("rtx6000-a", *sets)["RULE.FIRE_FLOOR"]
    assert found.status == "warn"
    assert found.required.startswith(f"{floor} slots")
    assert "its code only ever warns" in found.why


def test_the_measured_cost_of_speculation_on_such_a_pool_is_told() -> None:
    assert "58 against 75 tok/s" in judged("rtx6000-a", MTP)["RULE.FIRE_FLOOR"].why
    assert "tok/s" not in judged("rtx6000-a", "max-num-seqs=2")["RULE.FIRE_FLOOR"].why


@pytest.mark.parametrize(("force", "expected"), [("1", "warn"), ("0", "refuse")])
def test_a_v2_server_refuses_below_the_floor_without_consent(force: str, expected: str) -> None:
    profile = with_sets("rtx6000-a", "max-num-seqs=2", f"VLLM_MOE_W2_FORCE_POOL={force}")
    found = of(of_version(profile, "v2"))["RULE.FIRE_FLOOR"]
    assert found.status == expected
    assert "FORCE_POOL=1" in found.why


def test_without_the_gate_there_is_no_fire_floor() -> None:
    assert status(judged("rtx6000-a", "VLLM_MOE_W2_GATE=0", "max-num-seqs=4"), "RULE.FIRE_FLOOR") is None


def test_a_pool_that_sizes_itself_has_no_slots_yet_when_the_server_looks() -> None:
    found = judged("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=auto")["RULE.FIRE_FLOOR"]
    assert (found.status, found.measured) == ("warn", "0 slots")


@pytest.mark.parametrize(
    ("gib", "expected"),
    [("6", "pass"), ("5.99", "pass"), ("6.01", "refuse"), ("7", "refuse"), ("0", None), ("auto", None)],
)
def test_the_ceiling_of_the_pool_on_a_96_gb_card(gib: str, expected: str | None) -> None:
    assert status(judged("rtx6000-a", f"VLLM_MOE_W2_DELTA_GB={gib}"), "RULE.POOL_CEILING") == expected


def test_a_larger_card_has_no_known_ceiling() -> None:
    profile = with_sets("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=20")
    assert profile.hardware.gpu is not None
    gpu = profile.hardware.gpu.model_copy(update={"memory_bytes": 140 << 30})
    larger = profile.model_copy(update={"hardware": profile.hardware.model_copy(update={"gpu": gpu})})
    assert status(of(larger), "RULE.POOL_CEILING") is None


def test_over_a_base_cache_the_planes_are_not_resident_and_the_ceiling_is_another() -> None:
    results = judged("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=20", "VLLM_MOE_W2_BASE_CACHE_GB=10")
    assert status(results, "RULE.POOL_CEILING") is None


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (["max-num-batched-tokens=1024"], "pass"),
        (["max-num-batched-tokens=2047"], "pass"),
        (["max-num-batched-tokens=2048"], "refuse"),
        (["max-num-batched-tokens=8192"], "refuse"),
        (["max-num-batched-tokens="], "refuse"),
        (["max-num-batched-tokens=2048", "VLLM_MOE_W2_DELTA_GB=4"], None),
    ],
)
def test_the_batch_beside_a_full_pool(sets: list[str], expected: str | None) -> None:
    assert status(judged("rtx6000-a", *sets), "RULE.POOL_BATCH") == expected


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (["max-num-seqs=96"], "pass"),
        (["max-num-seqs=97"], "refuse"),
        (["max-num-seqs=32", MTP], "pass"),
        (["max-num-seqs=33", MTP], "refuse"),
        (["max-num-seqs=97", "VLLM_MOE_W2_PREFILL_T=128"], "pass"),
        (["VLLM_MOE_W2_PREFILL_T=0"], "refuse"),
    ],
)
def test_a_decode_step_below_the_prefill_threshold(sets: list[str], expected: str) -> None:
    assert status(judged("rtx6000-a", *sets), "RULE.PREFILL_T") == expected


def test_without_a_tier_the_server_does_not_look_at_it() -> None:
    assert status(judged("rtx6000-b"), "RULE.PREFILL_T") is None


@pytest.mark.parametrize(
    ("name", "sets", "version", "expected"),
    [
        ("rtx6000-a", [], "v1", "pass"),
        ("rtx6000-b", ["VLLM_MOE_W2_GATE=1"], "v1", "warn"),
        ("rtx6000-b", ["VLLM_MOE_W2_GATE=1"], "v2", "warn"),
        ("rtx6000-b", ["VLLM_MOE_W2_GATE=1", "VLLM_MOE_W2_BASE_CACHE_GB=10"], "v1", "warn"),
        ("rtx6000-b", ["VLLM_MOE_W2_GATE=1", "VLLM_MOE_W2_BASE_CACHE_GB=10"], "v2", "refuse"),
        ("rtx6000-a", ["VLLM_MOE_W2_DELTA=0"], "v1", "warn"),
        ("rtx6000-b", [], "v1", None),
    ],
)
def test_a_gate_needs_something_to_promote_into(
    name: str, sets: list[str], version: Literal["v1", "v2"], expected: str | None
) -> None:
    assert status(of(of_version(with_sets(name, *sets), version)), "RULE.GATE_TIER") == expected


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([], "pass"),
        (["VLLM_MOE_W2_GATE_MAX_PROMOTE=0"], "pass"),
        (["VLLM_MOE_W2_GATE_MAX_PROMOTE=0", "max-num-seqs=2"], "warn"),
        (["VLLM_MOE_W2_GATE_MAX_PROMOTE=-1", "max-num-seqs=2"], "warn"),
        (["VLLM_MOE_W2_GATE_MAX_PROMOTE=", "max-num-seqs=2"], "pass"),
        (["max-num-seqs=2"], "pass"),
    ],
)
def test_no_cap_on_promotions_of_a_pool_below_its_floor(sets: list[str], expected: str) -> None:
    assert status(judged("rtx6000-a", *sets), "RULE.PROMOTE_CAP") == expected


@pytest.mark.parametrize(("gib", "expected"), [("3.37", "refuse"), ("3.375", "pass"), ("20", "pass"), ("0", None)])
def test_a_base_pool_holds_two_layers_at_least(gib: str, expected: str | None) -> None:
    results = judged("rtx6000-b", f"VLLM_MOE_W2_BASE_CACHE_GB={gib}", "VLLM_MOE_W2_FORCE_POOL=1")
    assert status(results, "RULE.POOL_MINIMUM") == expected
