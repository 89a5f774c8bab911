import json
from pathlib import Path
from typing import Any

import pytest

from moet_boot.preflight import Request, prepare
from moet_boot.preflight.document import preflight_document
from tests.checks.cases import FIELD

FINDING_KEYS = {"id", "status", "title", "measured", "required", "why", "fix", "source"}


def document_of(case: str, profile: str = "spark", **request: Any) -> dict[str, Any]:
    request_ = Request(profile, snapshot=FIELD / f"{case}.json", **request)
    found: dict[str, Any] = json.loads(json.dumps(preflight_document(prepare(request_, env={}), 0.1234)))
    return found


def test_the_contract_of_the_document() -> None:
    document = document_of("spark-port-taken")
    assert {"profile", "variant", "verdict", "findings", "memory", "plan", "accepted_risks", "duration_s"} <= set(
        document
    )
    assert (document["profile"], document["variant"], document["verdict"]) == ("spark", None, "refuse")
    assert document["duration_s"] == 0.123
    for finding in document["findings"]:
        assert set(finding) >= FINDING_KEYS
        assert finding["status"] in {"pass", "warn", "refuse", "skipped"}
    assert {"argv", "env", "mounts"} <= set(document["plan"])


def test_the_memory_of_unified_memory() -> None:
    memory = document_of("spark-port-taken")["memory"]
    assert memory["available_bytes"] == 118_593_946 * 1024
    assert memory["required_bytes"] > 104 << 30
    assert [phase["name"] for phase in memory["phases"]][:2] == ["starting", "loading_weights"]
    assert {phase["source"] for phase in memory["phases"]} == {"model"}
    assert memory["others"] == []


def test_the_memory_of_a_card_and_its_host() -> None:
    memory = document_of("rtx-tn-cached-boot-62gib-host", "rtx6000-a")["memory"]
    assert memory["pool"] == "GPU memory"
    assert [pool["pool"] for pool in memory["others"]] == ["host memory"]


def test_every_part_of_the_forecast_says_where_it_comes_from() -> None:
    terms = document_of("spark-port-taken")["memory"]["terms"]
    assert {"planes", "kv_cache", "host_side"} <= {term["name"] for term in terms}
    assert all(term["source"] and term["bytes"] > 0 for term in terms)


def test_the_plan_is_the_very_plan() -> None:
    document = document_of("rtx-tn-cached-boot-62gib-host", "rtx6000-a")
    prepared = prepare(Request("rtx6000-a", snapshot=FIELD / "rtx-tn-cached-boot-62gib-host.json"), env={})
    assert document["plan"]["argv"] == list(prepared.plan.argv)
    assert document["plan"]["digest"] == prepared.plan.digest
    assert document["plan"]["mounts"][0]["target"] == "/model"


def test_secrets_are_not_in_the_document() -> None:
    document = document_of(
        "rtx-tn-iommu-on-single-gpu", "rtx6000-b", sets=("VLLM_API_KEY=hush-hush",), extra=("--api-key", "hush-hush")
    )
    assert "hush-hush" not in json.dumps(document)


@pytest.mark.parametrize("risk", ["MEM.CONTIGUOUS"])
def test_accepted_risks_are_recorded(risk: str) -> None:
    document = document_of("spark-fragmented-long-uptime", accepted=(risk,))
    assert document["accepted_risks"] == [risk]
    assert document["verdict"] == "warn"
    refused = [finding["id"] for finding in document["findings"] if finding["status"] == "refuse"]
    assert refused == [risk]


def test_a_blind_spot_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "blind.json"
    file.write_text(json.dumps({"arch": "aarch64"}))
    document = preflight_document(prepare(Request("spark", snapshot=file), env={}), 0)
    blind = [finding["id"] for finding in document["findings"] if finding["blind"]]
    assert "MEM.AVAILABLE" in blind
    assert document["verdict"] == "refuse"
