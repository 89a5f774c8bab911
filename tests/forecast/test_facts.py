from typing import Any

import pytest

from moet_boot.forecast.facts import BootFacts, StoreFacts, artefact_of, boot_facts, file_of
from moet_boot.machine.snapshot import Snapshot
from moet_boot.profile.model import ArtefactKind
from tests.checks.cases import GONE, change, healthy, plan_of


def facts_of(profile: str, changes: dict[str, Any] | None = None) -> BootFacts:
    snapshot = Snapshot.model_validate(change(healthy(profile), changes or {}))
    return boot_facts(*plan_of(profile), snapshot)


def test_the_facts_of_an_rtx_host() -> None:
    facts = facts_of("rtx6000-a")
    assert facts.memory_total_bytes == 65_536_000 * 1024
    assert facts.gpu_total_bytes == 102_641_958_912
    assert facts.checkpoint_bytes == 160_000_000_000
    assert facts.planes_cache == StoreFacts(complete=True)
    assert facts.pack_store == StoreFacts(complete=True)


def test_nothing_is_known_of_an_empty_snapshot() -> None:
    assert boot_facts(*plan_of("rtx6000-a"), Snapshot()) == BootFacts()


@pytest.mark.parametrize(
    ("changes", "store"),
    [
        pytest.param({"files.0.complete": False}, StoreFacts(complete=False), id="summary"),
        pytest.param({"files.0.complete": None}, None, id="not-counted"),
        pytest.param(
            {"files.0.complete": GONE, "files.0.layers_present": 43, "files.0.layers_expected": 43},
            StoreFacts(complete=True, missing=0),
            id="counted-complete",
        ),
        pytest.param(
            {"files.0.complete": GONE, "files.0.layers_present": 40, "files.0.layers_expected": 43},
            StoreFacts(complete=False, missing=3),
            id="counted-three-missing",
        ),
        pytest.param(
            {"files.0.complete": False, "files.0.problems": ["a", "b"]},
            StoreFacts(complete=False, problem="a"),
            id="with-a-reason",
        ),
        pytest.param(
            {"files.0.exists": False},
            StoreFacts(complete=False, problem="/planescache does not exist"),
            id="not-there",
        ),
    ],
)
def test_the_state_of_a_store(changes: dict[str, Any], store: StoreFacts | None) -> None:
    assert facts_of("rtx6000-a", changes).planes_cache == store


def test_a_profile_without_a_store_has_an_incomplete_one() -> None:
    assert facts_of("rtx6000-b").pack_store == StoreFacts(complete=False, problem="the profile has none")


@pytest.mark.parametrize("size", [None, 0, 6210, 100 * 10**9, 400 * 10**9])
def test_a_checkpoint_of_a_strange_size_moves_nothing(size: int | None) -> None:
    assert facts_of("spark", {"checkpoint.total_bytes": size}).checkpoint_bytes is None


def test_a_card_without_figures_leaves_the_profiles() -> None:
    assert facts_of("rtx6000-a", {"nvml.gpus.0.memory": {"error": "UNKNOWN"}}).gpu_total_bytes is None
    assert facts_of("demo").gpu_total_bytes is None


def test_files_are_found_by_name_then_by_path() -> None:
    profile, plan = plan_of("spark")
    by_plan = {"path": plan.paths["plane_file"], "size": 1}
    by_name = {"path": "/x", "name": "plane_file", "size": 2}
    kind = ArtefactKind.PLANE_FILE
    for files, size in (([by_plan], 1), ([by_plan, by_name], 2), ([{"path": "/y"}], None)):
        found = file_of(profile, plan, Snapshot.model_validate({"files": files}), kind)
        assert (found.size if found else None) == size
    assert file_of(profile, plan, Snapshot.model_validate({"files": []}), ArtefactKind.PACK_STORE) is None


def test_artefacts_by_kind() -> None:
    profile = plan_of("rtx6000-b")[0]
    found = artefact_of(profile, ArtefactKind.PLANES_CACHE)
    assert found is not None
    assert found[0] == "planes_cache"
    assert artefact_of(profile, ArtefactKind.PLANE_FILE) is None
