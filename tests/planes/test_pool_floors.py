from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.geometry import DS4_FLASH, SlotKind
from moet_boot.planes.pool_floors import (
    PoolLevel,
    PoolPlan,
    PoolRule,
    base_pairs,
    check_base_minimum,
    check_pools,
    check_resident_fit,
    delta_slots,
    fire_floor,
    pool_slots,
)
from moet_boot.planes.server_version import ServerVersion
from moet_boot.units import GIB
from testing.golden import golden_json

V1, V2 = ServerVersion.V1, ServerVersion.V2
GRID = golden_json("ix_floors.json")


def outcome(row: dict[str, Any], server: ServerVersion, *, force: bool) -> str:
    base = row["tier"] == "base"
    plan = PoolPlan(
        layers=GRID["layers"],
        top_k=GRID["top_k"],
        base_slots=row["n_slots"] if base else None,
        fp4_slots=None if base else row["n_slots"],
        n_spec=row["n_spec"],
        max_num_seqs=row["max_num_seqs"],
        gate=not base,
        force_pool=force,
    )
    found = check_pools(plan, server)
    assert len(found) <= 1
    return f"{found[0].level}:{found[0].rule}" if found else "ok"


@pytest.mark.parametrize(
    "row", GRID["rows"], ids=lambda row: f"{row['tier']}-{row['gib']}gib-spec{row['n_spec']}-seqs{row['max_num_seqs']}"
)
def test_the_golden_grid(row: dict[str, Any]) -> None:
    got = {
        f"{server}_force{int(force)}": outcome(row, server, force=force)
        for server in (V1, V2)
        for force in (False, True)
    }
    assert got == {key: row[key] for key in got}
    assert pool_slots(row["gib"], GRID["slot_bytes"][row["tier"]]) == row["n_slots"]


@pytest.mark.parametrize(
    ("gib", "kind", "slots"),
    [
        pytest.param(2, SlotKind.DELTA, 170, id="default"),
        pytest.param(6, SlotKind.DELTA, 512, id="configuration A"),
        pytest.param(11.5, SlotKind.DELTA, 981, id="delta"),
        pytest.param(11.5, SlotKind.FP4, 923, id="over a base"),
        pytest.param(6, SlotKind.FP4Q, 819, id="split"),
        pytest.param(0.001, SlotKind.DELTA, 8, id="never fewer than 8"),
        pytest.param(3.375, SlotKind.BASE, 512, id="smallest base pool"),
    ],
)
def test_slots_of_a_pool(gib: float, kind: SlotKind, slots: int) -> None:
    assert delta_slots(gib, DS4_FLASH, kind) == slots


@pytest.mark.parametrize(
    ("n_spec", "seqs", "floor"),
    [(0, 1, 438), (1, 1, 877), (0, 2, 877), (2, 1, 1315), (2, 4, 5263), (2, 256, 5263), (0, 0, 438)],
)
def test_the_published_fire_floors(n_spec: int, seqs: int, floor: int) -> None:
    assert fire_floor(43, 6, n_spec, seqs) == floor


def test_fewer_passes_need_fewer_slots() -> None:
    assert fire_floor(43, 6, 0, 1, fp_max=1) == 258
    assert fire_floor(43, 6, 0, 1, fp_max=0) == 258
    assert fire_floor(43, 6, 0, 1, fp_max=2) == 348


@pytest.mark.parametrize(("server", "pairs"), [(V1, 1548), (V2, 3096)])
def test_v1_and_v2_count_sequences_differently(server: ServerVersion, pairs: int) -> None:
    assert base_pairs(43, 6, 2, 4, server) == pairs


def plan(**changes: Any) -> PoolPlan:
    return PoolPlan(**{"layers": 43, "top_k": 6, "base_slots": None, "fp4_slots": None, **changes})


def test_without_any_tier_the_server_checks_nothing() -> None:
    assert check_pools(plan(gate=True, prefill_tokens=1, max_num_seqs=256), V2) == []


@pytest.mark.parametrize(("server", "level"), [(V1, PoolLevel.WARN), (V2, PoolLevel.REFUSE)])
def test_a_gate_over_a_base_without_an_fp4_tier(server: ServerVersion, level: PoolLevel) -> None:
    (found,) = check_pools(plan(base_slots=2000, gate=True), server)
    assert (found.rule, found.level) == (PoolRule.GATE_WITHOUT_TIER, level)
    assert found.server_says == "no FP4 delta tier exists"


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("force", [False, True])
def test_a_small_prefill_threshold_cannot_be_forced(server: ServerVersion, *, force: bool) -> None:
    (found,) = check_pools(plan(fp4_slots=9000, max_num_seqs=64, n_spec=1, force_pool=force), server)
    assert (found.rule, found.level) == (PoolRule.PREFILL, PoolLevel.REFUSE)
    assert "128" in found.message
    assert check_pools(plan(fp4_slots=9000, max_num_seqs=48, n_spec=1), server) == []


def test_an_fp4_pool_without_a_gate_has_no_floor() -> None:
    assert check_pools(plan(fp4_slots=8), V2) == []


def test_every_finding_says_what_to_do() -> None:
    small = plan(base_slots=8, fp4_slots=8, gate=True, max_num_seqs=200)
    found = check_pools(small, V2) + check_base_minimum(8, 256) + check_resident_fit(DS4_FLASH, 0, 0, 0)
    assert {finding.rule for finding in found} == set(PoolRule) - {PoolRule.TIGHT, PoolRule.GATE_WITHOUT_TIER}
    assert all(finding.fix and finding.message for finding in found)


@pytest.mark.parametrize(("slots", "fine"), [(511, False), (512, True)])
def test_the_base_pool_holds_two_layers(slots: int, *, fine: bool) -> None:
    assert (check_base_minimum(slots, 256) == []) is fine


@pytest.mark.parametrize(
    ("free_gib", "n_spec", "tokens", "fine"),
    [
        pytest.param(95, 0, 262144, True, id="configuration A"),
        pytest.param(78.5, 0, 262144, False, id="2 + 4 GiB short"),
        pytest.param(78.5625, 0, 262144, True, id="exactly"),
        pytest.param(78.5625, 2, 262144, False, id="drafts need more"),
        pytest.param(24, 0, 1024, False, id="small card"),
    ],
)
def test_the_resident_fit(free_gib: float, n_spec: int, tokens: int, *, fine: bool) -> None:
    found = check_resident_fit(DS4_FLASH, int(free_gib * GIB), n_spec, tokens)
    assert (found == []) is fine


def test_a_forced_resident_fit_only_warns() -> None:
    (found,) = check_resident_fit(DS4_FLASH, 20 * GIB, 0, 1024, force=True)
    assert found.level is PoolLevel.WARN
    assert found.server_says == "RESIDENT planes exceed"


def test_configuration_a_stands_on_its_floor() -> None:
    slots = delta_slots(6, DS4_FLASH)
    assert check_pools(plan(fp4_slots=slots, gate=True), V2) == []
    (found,) = check_pools(plan(fp4_slots=slots, gate=True, n_spec=2, force_pool=True), V2)
    assert (found.level, found.rule) == (PoolLevel.WARN, PoolRule.FIRE_FLOOR)


@given(
    layers=st.integers(1, 100),
    n_spec=st.integers(0, 8),
    seqs=st.integers(0, 512),
    slots=st.integers(8, 20000),
    server=st.sampled_from(ServerVersion),
)
def test_more_slots_are_never_worse(layers: int, n_spec: int, seqs: int, slots: int, server: ServerVersion) -> None:
    def severity(count: int) -> int:
        found = check_pools(
            plan(layers=layers, base_slots=count, n_spec=n_spec, max_num_seqs=seqs, prefill_tokens=1 << 20), server
        )
        return max((list(PoolLevel).index(finding.level) for finding in found), default=0)

    assert severity(slots + 1) <= severity(slots)
