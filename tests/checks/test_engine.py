from dataclasses import replace
from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from tests.checks.cases import case_of, judge_by, said


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        pytest.param({}, "pass", ["version unknown"], id="there"),
        pytest.param({"engine.version": "0.32.0"}, "pass", ["0.32.0"], id="the-profiles-version"),
        pytest.param({"engine.version": "0.32.0+cpu"}, "pass", [], id="a-build-of-it"),
        pytest.param({"engine.version": "0.31.1"}, "warn", ["version 0.32.0"], id="another-version"),
        pytest.param({"engine.path": None}, "refuse", ["not found", "--engine"], id="not-there"),
        pytest.param({"engine.executable": False}, "refuse", ["not executable"], id="not-executable"),
        pytest.param({"engine.path": None, "engine.error": "is a folder"}, "refuse", ["is a folder"], id="a-folder"),
        pytest.param({"engine": None}, "skipped", [], id="not-read"),
    ],
)
def test_present(changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by("ENGINE.PRESENT", case_of("demo", changes))
    assert finding.status == status
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize(
    ("profile", "version", "status"),
    [
        ("spark", "0.24.0", "pass"),
        ("spark", "v0.24.2+moet", "pass"),
        ("spark", "0.23.1", "refuse"),
        ("spark", "0.25.0", "warn"),
        ("spark", "1.0", "warn"),
        ("spark", "main", "skipped"),
        ("spark", None, "skipped"),
        ("rtx6000-b", "0.23.0", "warn"),
        ("rtx6000-b", "0.24.0", "pass"),
    ],
)
def test_the_version_in_the_image(profile: str, version: str | None, status: str) -> None:
    finding = judge_by("ENGINE.VERSION", case_of(profile, {"docker.image.vllm": version}))
    assert finding.status == status, finding
    assert ("reboot" in said(finding)) is (status == "refuse")


def test_an_image_that_is_not_there_has_no_version() -> None:
    assert judge_by("ENGINE.VERSION", case_of("spark", {"docker.image": None})).status is Status.SKIPPED


def test_an_engine_in_a_container_is_the_images() -> None:
    assert judge_by("ENGINE.PRESENT", case_of("spark")).status is Status.SKIPPED
    assert judge_by("ENGINE.PRESENT", case_of("demo", {"engine": None}, sight=Sight.REHEARSED)).status == "skipped"


@pytest.mark.parametrize(
    ("profile", "sets", "extra", "status", "words"),
    [
        pytest.param("demo", (), (), "pass", ["14 arguments"], id="as-shipped"),
        pytest.param("rtx6000-a", (), (), "pass", ["25 arguments"], id="rtx-as-shipped"),
        pytest.param("spark", (), (), "pass", ["0 arguments"], id="an-image-without-arguments"),
        pytest.param("demo", (), ("--no-such-flag",), "refuse", ["no such flag"], id="unknown-flag"),
        pytest.param("demo", (), ("--max-modl-len", "5"), "refuse", ["mean --max-model-len"], id="nearest-name"),
        pytest.param("demo", (), ("--dtype=fp7",), "refuse", ["fp7"], id="bad-choice"),
        pytest.param("rtx6000-b", ("gpu-memory-utilization=1.5",), (), "refuse", ["'1.5'"], id="no-share"),
        pytest.param("rtx6000-b", (), ("--gpu-memory-utilization=half",), "refuse", ["'half'"], id="a-word"),
        pytest.param("rtx6000-b", (), ("--max-model-len", "0"), "refuse", ["'0'"], id="no-context"),
    ],
)
def test_flags(profile: str, sets: tuple[str, ...], extra: tuple[str, ...], status: str, words: list[str]) -> None:
    finding = judge_by("ENGINE.FLAGS", case_of(profile, sets=sets, extra=extra))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


def test_an_engine_of_a_version_that_nobody_copied_may_know_more() -> None:
    case = case_of("demo", extra=("--no-such-flag",))
    older = case.profile.engine.model_copy(update={"vllm_version": "0.9.1"})
    finding = judge_by("ENGINE.FLAGS", replace(case, profile=case.profile.model_copy(update={"engine": older})))
    assert finding.status is Status.WARN
    assert "another" in finding.why


def test_arguments_of_a_program_that_nobody_knows_are_not_judged() -> None:
    case = case_of("demo")
    chained = replace(case, plan=replace(case.plan, argv=("/opt/entrypoint.sh", "--whatever", "it", "takes")))
    assert judge_by("ENGINE.FLAGS", chained).measured.startswith("0 arguments")


def test_the_program_itself_is_no_argument() -> None:
    case = case_of("demo", sets=("engine=/opt/somewhere/vllm",))
    assert judge_by("ENGINE.FLAGS", case).status is Status.PASS
