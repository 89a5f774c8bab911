import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml

from moet_boot.errors import UsageError
from moet_boot.preflight import Request, Verdict, prepare
from moet_boot.preflight.junit import junit_report, write_junit
from tests.checks.cases import FIELD


def verdict_of(case: str, *accepted: str) -> Verdict:
    return prepare(Request("spark", snapshot=FIELD / f"{case}.json", accepted=accepted), env={}).verdict


def cases_of(report: bytes) -> dict[str, object]:
    suite = next(iter(JUnitXml.fromstring(report)))
    return {case.name: case for case in suite}


def test_one_case_a_finding() -> None:
    verdict = verdict_of("spark-port-taken")
    cases = cases_of(junit_report(verdict, "spark", 0.5))
    assert set(cases) == {finding.id for finding in verdict.findings}


def test_refusals_fail_and_skips_are_skipped() -> None:
    report = JUnitXml.fromstring(junit_report(verdict_of("spark-port-taken"), "spark", 0.5))
    suite = next(iter(report))
    assert suite.failures == 1
    assert suite.skipped > 0
    (failed,) = [case for case in suite if any("Failure" in type(result).__name__ for result in case.result)]
    assert failed.name == "NET.PORT"
    assert "port 8010 is taken" in failed.result[0].message
    assert "fix: choose another" in failed.result[0].text


def test_an_accepted_risk_and_a_warning_are_output_of_a_passed_case() -> None:
    suite = next(
        iter(JUnitXml.fromstring(junit_report(verdict_of("spark-fragmented-long-uptime", "MEM.CONTIGUOUS"), "s", 0)))
    )
    assert suite.failures == 0
    (accepted,) = [case for case in suite if case.name == "MEM.CONTIGUOUS"]
    assert accepted.system_out.startswith("refuse: ")


def test_the_file_is_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text("an older report")
    write_junit(verdict_of("spark-port-taken"), "spark", 0.5, file)
    assert cases_of(file.read_bytes())
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.xml"]


@pytest.mark.parametrize("place", ["no/such/folder/r.xml", "folder"])
def test_a_place_that_cannot_take_a_file(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="--junit"):
        write_junit(verdict_of("spark-port-taken"), "spark", 0.5, tmp_path / place)
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "junitparser", None)
    with pytest.raises(UsageError, match="junitparser") as raised:
        write_junit(verdict_of("spark-port-taken"), "spark", 0.5, tmp_path / "r.xml")
    assert "moet-boot[junit]" in raised.value.fix
    assert list(tmp_path.iterdir()) == []
