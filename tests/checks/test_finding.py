import pytest

from moet_boot.checks.finding import (
    Answer,
    Case,
    Check,
    Scope,
    Sight,
    Status,
    check,
    passed,
    printable,
    refuse,
    unseen,
    warn,
)
from moet_boot.exits import Exit
from tests.checks.cases import case_of, judge_by

NEVER = Scope(lambda case: False, "not for this one")


def a_check(blind: Status = Status.WARN, scope: Scope | None = None) -> Check:
    return check("X.Y", "title", needs=("buddyinfo",), blind=blind, scope=scope)(lambda case: passed("seen"))


def test_a_check_adds_its_id_and_title_to_the_answer() -> None:
    @check("MEM.X", "a title")
    def answer(case: Case) -> Answer:
        return refuse("m", "r", why="w", fix="f", source="s", code=Exit.ARTEFACT_MISSING, acceptable=False)

    finding = answer.judge(case_of("spark"))
    assert (finding.id, finding.title, finding.status) == ("MEM.X", "a title", Status.REFUSE)
    assert (finding.measured, finding.required, finding.why) == ("m", "r", "w")
    assert (finding.fix, finding.source, finding.code) == ("f", "s", Exit.ARTEFACT_MISSING)
    assert not finding.acceptable
    assert finding.stops


def test_out_of_scope_is_skipped_with_the_scopes_reason() -> None:
    finding = a_check(scope=NEVER).judge(case_of("spark", {"buddyinfo": None}))
    assert (finding.status, finding.measured, finding.stops) == (Status.SKIPPED, "not for this one", False)


@pytest.mark.parametrize(
    ("sight", "blind", "status", "stops"),
    [
        pytest.param(Sight.LIVE, Status.REFUSE, Status.REFUSE, True, id="live-could-hide-a-freeze"),
        pytest.param(Sight.LIVE, Status.WARN, Status.WARN, False, id="live-harmless"),
        pytest.param(Sight.REPLAYED, Status.REFUSE, Status.SKIPPED, True, id="replayed-could-hide-a-freeze"),
        pytest.param(Sight.REPLAYED, Status.WARN, Status.SKIPPED, False, id="replayed-harmless"),
        pytest.param(Sight.REHEARSED, Status.REFUSE, Status.SKIPPED, False, id="dry-run"),
    ],
)
def test_a_missing_group(sight: Sight, blind: Status, status: Status, stops: bool) -> None:
    finding = a_check(blind).judge(case_of("spark", {"buddyinfo": None}, sight=sight))
    assert (finding.status, finding.stops) == (status, stops)
    assert "buddyinfo" in finding.measured


def test_the_reason_of_the_reader_is_named() -> None:
    live = case_of("spark", {"buddyinfo": None}, sight=Sight.LIVE, errors={"buddyinfo": "no answer in 3 s"})
    assert "no answer in 3 s" in a_check().judge(live).measured
    replayed = case_of("spark", {"buddyinfo": None}, errors={"buddyinfo": "Permission denied"})
    assert "Permission denied" in a_check().judge(replayed).measured


def test_a_fact_inside_a_group_finds_its_reader_by_name() -> None:
    case = case_of("rtx6000-a", sight=Sight.LIVE, errors={"stores": "config.json is broken"})
    assert "config.json is broken" in unseen(case, "state of the planes cache", reader="stores").measured


def test_a_warning_stops_nothing() -> None:
    finding = check("X.Y", "t")(lambda case: warn("m", "r", why="w", fix="f")).judge(case_of("spark"))
    assert finding.status is Status.WARN
    assert not finding.stops


def test_only_a_dry_run_is_rehearsed() -> None:
    assert [case_of("spark", sight=sight).rehearsed for sight in Sight] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aarch64", "aarch64"),
        ("Größe 5 GiB", "Größe 5 GiB"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nREFUSE\r", "a\\nREFUSE\\r"),
        ("a\u202eb", "a\\u202eb"),
        ("", ""),
    ],
)
def test_what_a_snapshot_says_cannot_steer_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
    finding = judge_by("HOST.ARCH", case_of("spark", {"arch": text}))
    assert finding.measured == f"architecture {shown}" or text == "aarch64"
    assert f"{finding.measured}{finding.required}{finding.why}{finding.fix}{finding.source}".isprintable()
