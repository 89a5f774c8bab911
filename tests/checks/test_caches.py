from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.exits import Exit
from tests.checks.cases import case_of, judge_by, said

CACHE = "CACHE.SKIP"
PACK = "PACK.IDENTITY"


@pytest.mark.parametrize(
    ("id_", "changes", "status", "words"),
    [
        pytest.param(CACHE, {}, "pass", ["43 of 43 layers from the planes cache"], id="all-layers"),
        pytest.param(CACHE, {"files.0.complete": False}, "warn", ["43 of 43 layers miss"], id="no-layer"),
        pytest.param(
            CACHE,
            {"files.0.complete": False, "files.0.layers_present": 40, "files.0.layers_expected": 43},
            "warn",
            ["3 of 43 layers miss", "skip-forecast"],
            id="three-layers",
        ),
        pytest.param(
            CACHE,
            {"files.0.complete": False, "files.0.problems": ["meta.json is of another model"]},
            "warn",
            ["meta.json is of another model"],
            id="with-the-readers-reason",
        ),
        pytest.param(CACHE, {"files.0.exists": False}, "warn", ["does not exist"], id="no-folder"),
        pytest.param(CACHE, {"files.0.complete": None}, "skipped", [], id="not-counted"),
        pytest.param(CACHE, {"files": []}, "skipped", ["state of the planes cache"], id="not-looked-at"),
        pytest.param(
            CACHE, {"files.0.problems": ["layer 3 has holes"]}, "refuse", ["layer 3", "zeros"], id="believed-and-wrong"
        ),
        pytest.param(PACK, {}, "pass", ["complete"], id="pack-complete"),
        pytest.param(PACK, {"files.1.complete": False}, "warn", ["not complete", "fills it"], id="pack-incomplete"),
        pytest.param(PACK, {"files.1.exists": False, "files.1.complete": False}, "warn", ["does not"], id="no-pack"),
        pytest.param(PACK, {"files.1.complete": None}, "skipped", [], id="pack-not-counted"),
        pytest.param(PACK, {"files": []}, "skipped", [], id="pack-not-looked-at"),
        pytest.param(
            PACK, {"files.1.problems": ["rows of zeros"]}, "refuse", ["rows of zeros"], id="pack-believed-and-wrong"
        ),
    ],
)
def test_stores(id_: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by(id_, case_of("rtx6000-a", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)
    if status == "refuse":
        assert finding.code is Exit.ARTEFACT_DAMAGED
        assert not finding.acceptable


@pytest.mark.parametrize(
    ("sets", "missed"),
    [
        pytest.param((), False, id="as-published"),
        pytest.param(("VLLM_MOE_W2_PLANES_CACHE=",), True, id="no-cache-is-named"),
        pytest.param(("VLLM_MOE_W2_BASE_CACHE_GB=11.5", "VLLM_MOE_W2_STORE_DIR="), True, id="base-cache-without-store"),
        pytest.param(("VLLM_MOE_W2_BASE_CACHE_GB=11.5",), False, id="base-cache-over-the-packs"),
    ],
)
def test_the_store_that_the_server_asks_depends_on_its_environment(sets: tuple[str, ...], missed: bool) -> None:
    finding = judge_by(CACHE, case_of("rtx6000-a", sets=sets))
    assert (finding.status is Status.WARN) is missed, finding


def test_b_has_no_pack_store() -> None:
    assert judge_by(PACK, case_of("rtx6000-b")).status is Status.SKIPPED


def test_on_the_spark_the_image_decides() -> None:
    assert judge_by(CACHE, case_of("spark")).status is Status.SKIPPED


def test_a_store_that_could_not_be_read_says_why() -> None:
    case = case_of("rtx6000-a", {"files": []}, sight=Sight.LIVE, errors={"stores": "no answer in 15 s"})
    for id_ in (CACHE, PACK):
        assert "no answer in 15 s" in judge_by(id_, case).measured
