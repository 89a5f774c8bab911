import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.checks import catalogue
from moet_boot.checks.catalogue import CHECKS, known_ids, run_checks
from moet_boot.checks.finding import Answer, Case, Finding, Sight, Status, check
from moet_boot.machine.snapshot import Snapshot
from tests.checks.cases import case_of, case_over, healthy

CONTRACT = {
    "MEM": "AVAILABLE FREE CONTIGUOUS TRANSIENT SWAP PRESSURE CGROUP WATERMARK HELD",
    "GPU": "PRESENT COUNT MODEL VRAM VRAM_FREE PROCESSES DRIVER MODE",
    "HOST": "ARCH KERNEL LIMITS WSL",
    "NET": "PORT EXPOSURE",
    "DISK": "FREE TYPE DIRECT",
    "MODEL": "PRESENT COMPLETE REVISION",
    "PLANE": "PRESENT SIZE FORMAT REVISION SLOTS",
    "CACHE": "SKIP",
    "PACK": "IDENTITY",
    "DOCKER": "ENGINE IMAGE GPU NAME",
    "ENGINE": "FLAGS",
}
"""Family -> names: what design 5 promises."""
PROFILES = ["spark", "rtx6000-a", "rtx6000-b", "demo"]
NOT_A_GROUP = {"schema_", "errors"}
GROUPS = sorted(set(Snapshot.model_fields) - NOT_A_GROUP)


def test_every_id_of_the_contract_is_there_once() -> None:
    ids = [check.id for check in CHECKS]
    assert len(ids) == len(set(ids))
    assert {f"{family}.{name}" for family, names in CONTRACT.items() for name in names.split()} <= set(ids)
    assert any(id_.startswith("RULE.") for id_ in known_ids())
    assert "INTERNAL.MEM.AVAILABLE" in known_ids()


def test_what_a_check_needs_is_a_group_of_the_snapshot() -> None:
    assert {group for check in CHECKS for group in check.needs} <= set(GROUPS)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_healthy_machine_has_nothing_against_it(profile: str) -> None:
    findings = run_checks(case_of(profile))
    assert [f for f in findings if f.status in {Status.WARN, Status.REFUSE} or f.stops] == []
    assert sum(f.status is Status.PASS for f in findings) > 10


def test_a_check_that_crashes_refuses_and_the_others_still_answer() -> None:
    @check("MEM.X", "breaks")
    def breaks(case: Case) -> Answer:
        raise RuntimeError("no idea")

    first, second, *_ = run_checks(case_of("spark"), (breaks, CHECKS[0]))
    assert (first.id, first.status, first.stops) == ("INTERNAL.MEM.X", Status.REFUSE, True)
    assert "RuntimeError: no idea" in first.measured
    assert "--accept-risk INTERNAL.MEM.X" in first.fix
    assert second.id == "MEM.AVAILABLE"


def test_rules_that_crash_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(profile: object) -> list[Finding]:
        raise ZeroDivisionError

    monkeypatch.setattr(catalogue, "rule_findings", broken)
    (finding,) = run_checks(case_of("spark"), ())
    assert (finding.id, finding.status) == ("INTERNAL.RULE", Status.REFUSE)


@pytest.mark.parametrize("profile", PROFILES)
def test_whatever_is_said_against_a_boot_says_why_and_what_to_do(profile: str) -> None:
    empty = Snapshot.model_validate({"schema": "moet-boot/snapshot/v1"})
    findings = run_checks(case_over(empty, profile, sight=Sight.LIVE))
    for finding in findings:
        if finding.status in {Status.WARN, Status.REFUSE}:
            assert finding.measured
            assert finding.required
            assert finding.why
            assert finding.fix


GROUPS_OF: dict[str, tuple[str, ...]] = {check.id: check.needs for check in CHECKS}


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(PROFILES), st.sets(st.sampled_from(GROUPS)), st.sampled_from(list(Sight)))
def test_missing_groups_never_crash_a_check_nor_pass_for_what_was_not_read(
    profile: str, missing: set[str], sight: Sight
) -> None:
    document = {key: value for key, value in healthy(profile).items() if key not in missing}
    findings = run_checks(case_over(Snapshot.model_validate(document), profile, sight=sight))
    for finding in findings:
        assert not finding.id.startswith("INTERNAL."), finding
        if finding.status is Status.PASS:
            assert not set(GROUPS_OF.get(finding.id, ())) & missing, finding
    live_without_memory = sight is Sight.LIVE and "meminfo" in missing
    if live_without_memory or (sight is Sight.REPLAYED and "meminfo" in missing):
        assert any(f.stops for f in findings)


def leaves(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path to a value that is no container."""
    if isinstance(document, dict):
        return [leaf for key, value in document.items() for leaf in leaves(value, (*path, key))]
    if isinstance(document, list):
        return [leaf for index, value in enumerate(document) for leaf in leaves(value, (*path, index))]
    return [path]


def without(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    copied = copy.deepcopy(document)
    place: Any = copied
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return copied


@pytest.mark.parametrize("profile", PROFILES)
def test_no_single_missing_fact_crashes_a_check(profile: str) -> None:
    tried = 0
    for path in leaves(healthy(profile)):
        try:
            snapshot = Snapshot.model_validate(without(healthy(profile), path))
        except ValueError:
            continue
        tried += 1
        crashed = [f for f in run_checks(case_over(snapshot, profile)) if f.id.startswith("INTERNAL.")]
        assert not crashed, (path, crashed)
    assert tried > 20


ODD: list[Any] = [None, 0, 1, 10**15, "", "x", "12.1", "N/A", [], True, 1.5]


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.sampled_from(PROFILES), st.lists(st.tuples(st.integers(0, 400), st.sampled_from(ODD)), max_size=3))
def test_no_odd_value_crashes_a_check(profile: str, edits: list[tuple[int, Any]]) -> None:
    document = healthy(profile)
    for position, value in edits:
        path = leaves(document)[position % len(leaves(document))]
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    try:
        snapshot = Snapshot.model_validate(document)
    except ValueError:
        return  # the loader refuses it, with its own tests
    assert not [f for f in run_checks(case_over(snapshot, profile)) if f.id.startswith("INTERNAL.")]
