"""A verdict as a JUnit report, one test case a finding, for CI systems that draw such files."""

import os
import tempfile
from pathlib import Path

from moet_boot.checks.finding import Finding, Status
from moet_boot.errors import UsageError
from moet_boot.preflight.verdict import Verdict


def write_junit(verdict: Verdict, name: str, duration_s: float, path: Path) -> None:
    """Write the report, whole or not at all.

    Raises UsageError when the `junit` extra is not installed or the file cannot be written.
    """
    text = junit_report(verdict, name, duration_s)
    try:
        _replace(path, text)
    except OSError as error:
        raise UsageError(f"--junit {path}: {error.strerror}", fix="name a file in a folder you may write") from None


def _replace(path: Path, text: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def junit_report(verdict: Verdict, name: str, duration_s: float) -> bytes:
    """The report as XML. A refusal is a failure, an accepted one and a warning are output of a passed case."""
    try:
        from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite  # noqa: PLC0415  (an optional extra)
    except ImportError:
        fix = "pip install 'moet-boot[junit]'"
        raise UsageError("--junit needs the junitparser package, which is not installed", fix=fix) from None
    suite = TestSuite(f"moet-boot preflight {name}")
    for finding in verdict.findings:
        case = TestCase(finding.id, f"moet-boot.{name}", 0.0)
        if finding.stops and not verdict.lets_through(finding):
            failure = Failure(finding.measured, finding.status.value)
            failure.text = describe(finding)
            case.result = [failure]
        elif finding.status is Status.SKIPPED:
            case.result = [Skipped(finding.measured)]
        elif finding.status is not Status.PASS:
            case.system_out = f"{finding.status.value}: {describe(finding)}"
        suite.add_testcase(case)
    suite.time = round(duration_s, 3)
    report = JUnitXml("moet-boot")
    report.add_testsuite(suite)
    xml: bytes = report.tostring()  # type: ignore[no-untyped-call]  # junitparser annotates a part of itself
    return xml


def describe(finding: Finding) -> str:
    """A finding in plain lines."""
    rows = {"measured": finding.measured, "required": finding.required, "why": finding.why, "fix": finding.fix}
    return "\n".join([finding.title, *(f"{label}: {text}" for label, text in rows.items() if text)])
