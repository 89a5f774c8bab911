import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.checks.catalogue import known_ids
from moet_boot.checks.finding import Answer, Case, Check, Sight, Status, check, passed, refuse, skip, warn
from moet_boot.errors import UsageError
from moet_boot.exits import Exit
from moet_boot.preflight import Level, Verdict, judge
from moet_boot.preflight.verdict import check_risk_ids
from tests.checks.cases import GIB_KB, case_of


def says(id_: str, answer: Answer) -> Check:
    return check(id_, "t")(lambda case: answer)


def refusal(id_: str, code: Exit = Exit.REFUSED, *, acceptable: bool = True) -> Check:
    return says(id_, refuse("m", "r", why="w", fix="f", code=code, acceptable=acceptable))


PASS = says("A.PASS", passed("m"))
WARN = says("A.WARN", warn("m", "r", why="w", fix="f"))
SKIP = says("A.SKIP", skip("s"))
STOP = refusal("A.STOP")
DAMAGED = refusal("A.DAMAGED", Exit.ARTEFACT_DAMAGED, acceptable=False)
MISSING = refusal("A.MISSING", Exit.ARTEFACT_MISSING, acceptable=False)


def verdict_of(*checks: Check, accepted: tuple[str, ...] = (), case: Case | None = None) -> Verdict:
    """A verdict over these checks and the rules of a profile that keeps them all."""
    return judge(case or case_of("demo"), checks, accepted)


@pytest.mark.parametrize(
    ("checks", "accepted", "level", "code"),
    [
        pytest.param((), (), Level.SAFE, 0, id="nothing"),
        pytest.param((PASS, SKIP), (), Level.SAFE, 0, id="pass-and-skip"),
        pytest.param((PASS, WARN), (), Level.WARN, 0, id="warn"),
        pytest.param((WARN, STOP), (), Level.REFUSE, 3, id="refuse"),
        pytest.param((STOP,), ("A.STOP",), Level.WARN, 0, id="accepted"),
        pytest.param((STOP, refusal("B.STOP")), ("A.STOP",), Level.REFUSE, 3, id="only-the-named-one"),
        pytest.param((PASS,), ("A.STOP",), Level.SAFE, 0, id="accepted-in-vain"),
        pytest.param((DAMAGED,), ("A.DAMAGED",), Level.REFUSE, 5, id="cannot-be-accepted"),
        pytest.param((DAMAGED,), (), Level.REFUSE, 5, id="damaged"),
        pytest.param((MISSING,), (), Level.REFUSE, 6, id="missing"),
        pytest.param((MISSING, DAMAGED), (), Level.REFUSE, 5, id="damaged-and-missing"),
        pytest.param((MISSING, STOP), (), Level.REFUSE, 3, id="not-only-artefacts"),
        pytest.param((MISSING, STOP), ("A.STOP",), Level.REFUSE, 6, id="only-artefacts-are-left"),
    ],
)
def test_level_and_exit_code(checks: tuple[Check, ...], accepted: tuple[str, ...], level: Level, code: int) -> None:
    verdict = verdict_of(*checks, accepted=accepted)
    assert verdict.level is level
    assert verdict.exit_code() == code


@pytest.mark.parametrize(
    ("checks", "accepted", "code"),
    [((PASS,), (), 0), ((WARN,), (), 4), ((STOP,), ("A.STOP",), 4), ((WARN, STOP), (), 3), ((WARN, MISSING), (), 6)],
)
def test_fail_on_warn(checks: tuple[Check, ...], accepted: tuple[str, ...], code: int) -> None:
    assert verdict_of(*checks, accepted=accepted).exit_code(fail_on_warn=True) == code


def blind(blind_: Status) -> Check:
    return check("B.LIND", "t", needs=("buddyinfo",), blind=blind_)(lambda case: passed("m"))


@pytest.mark.parametrize(
    ("sight", "blind_", "level"),
    [
        pytest.param(Sight.REPLAYED, Status.REFUSE, Level.REFUSE, id="a-hole-that-could-hide-a-freeze"),
        pytest.param(Sight.REPLAYED, Status.WARN, Level.SAFE, id="a-harmless-hole"),
        pytest.param(Sight.REHEARSED, Status.REFUSE, Level.SAFE, id="a-dry-run"),
        pytest.param(Sight.LIVE, Status.WARN, Level.WARN, id="live-and-harmless"),
    ],
)
def test_what_was_not_looked_at(sight: Sight, blind_: Status, level: Level) -> None:
    case = case_of("demo", {"buddyinfo": None}, sight=sight)
    assert verdict_of(blind(blind_), case=case).level is level


def test_a_blind_spot_can_be_accepted_by_name() -> None:
    case = case_of("demo", {"buddyinfo": None})
    verdict = verdict_of(blind(Status.REFUSE), case=case, accepted=("B.LIND",))
    assert verdict.level is Level.WARN
    assert [finding.id for finding in verdict.taken_risks] == ["B.LIND"]


def test_every_finding_stands_in_one_list() -> None:
    verdict = verdict_of(PASS, WARN, SKIP, STOP, DAMAGED, accepted=("A.STOP",))
    lists = [verdict.refusals, verdict.taken_risks, verdict.warnings, verdict.passes, verdict.skipped]
    assert sorted(f.id for group in lists for f in group) == sorted(f.id for f in verdict.findings)
    assert [f.id for f in verdict.refusals] == ["A.DAMAGED"]
    assert [f.id for f in verdict.taken_risks] == ["A.STOP"]


def test_risks_are_named_by_ids_that_exist() -> None:
    check_risk_ids(["MEM.AVAILABLE", "RULE.FIRE_FLOOR", "INTERNAL.MEM.FREE"])
    with pytest.raises(UsageError, match=r"MEM\.AVAILABEL") as raised:
        check_risk_ids(["MEM.FREE", "MEM.AVAILABEL"])
    assert raised.value.fix == "did you mean MEM.AVAILABLE?"
    with pytest.raises(UsageError) as far:
        check_risk_ids(["everything"])
    assert "such as MEM.AVAILABLE" in far.value.fix


RANK = {Level.SAFE: 0, Level.WARN: 1, Level.REFUSE: 2}


@settings(deadline=None, max_examples=60)
@given(st.floats(0, 120), st.floats(0, 120))
def test_less_memory_never_improves_a_verdict(one: float, other: float) -> None:
    levels = []
    for taken in sorted([one, other]):
        left = max(118 - taken, 0)
        changes = {"meminfo.MemAvailable": int(left * GIB_KB), "meminfo.MemFree": int(left * GIB_KB * 0.96)}
        levels.append(RANK[judge(case_of("spark", changes)).level])
    assert levels[0] <= levels[1]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["rtx6000-a", "rtx6000-b"]), st.integers(0, 102_641_958_912), st.integers(0, 102_641_958_912))
def test_more_of_the_card_in_use_never_improves_a_verdict(profile: str, one: int, other: int) -> None:
    used = [{"nvml.gpus.0.memory.used": size} for size in sorted([one, other])]
    levels = [RANK[judge(case_of(profile, changes)).level] for changes in used]
    assert levels[0] <= levels[1]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["spark", "rtx6000-a"]),
    st.lists(st.sampled_from(sorted(known_ids())), max_size=6),
    st.floats(1, 118),
)
def test_accepting_never_makes_a_verdict_worse_nor_hides_a_finding(profile: str, ids: list[str], gib: float) -> None:
    case = case_of(profile, {"meminfo.MemAvailable": int(gib * GIB_KB * 0.4), "nvml.gpus.0.mig": "Enabled"})
    plain, accepted = judge(case), judge(case, accepted=ids)
    assert RANK[accepted.level] <= RANK[plain.level]
    assert accepted.findings == plain.findings
    assert set(plain.refusals) - set(accepted.refusals) == set(accepted.taken_risks)
    assert {finding.id for finding in accepted.taken_risks} <= set(ids)
