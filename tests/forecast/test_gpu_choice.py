from typing import Any

import pytest

from moet_boot.forecast.gpu_choice import GpuChoice, chosen_gpus, used_gpus, with_chosen_device
from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import Snapshot
from tests.checks.cases import plan_of


def machine(cards: int = 4, env: dict[str, str] | None = None, run: str | None = None) -> Snapshot:
    document: dict[str, Any] = {
        "nvml": {"init": "OK", "gpus": [{"index": index} for index in range(cards)]},
        "env": env or {},
        "docker": {"present": True, "run": {"gpus": run}},
    }
    return Snapshot.model_validate(document)


def choose(
    snapshot: Snapshot, *sets: str, profile: str = "rtx6000-b", recorded: bool = True
) -> tuple[LaunchPlan, GpuChoice]:
    found, plan = plan_of(profile, None, sets)
    plan = with_chosen_device(found, plan, snapshot, recorded=recorded)
    return plan, chosen_gpus(plan, snapshot)


@pytest.mark.parametrize(
    ("env", "run", "sets", "indices"),
    [
        pytest.param({}, None, (), (0,), id="the-profiles-default"),
        pytest.param({}, "all", (), (0,), id="all-says-nothing"),
        pytest.param({}, "2", (), (0,), id="a-count-says-nothing"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "2"}, None, (), (2,), id="by-environment"),
        pytest.param({"CUDA_VISIBLE_DEVICES": " 3 , 1 "}, None, (), (3, 1), id="several-with-blanks"),
        pytest.param({"CUDA_VISIBLE_DEVICES": ""}, None, (), (0,), id="empty-is-for-processes"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "GPU-[uuid]"}, None, (), (0,), id="uuid-cannot-be-followed"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "2"}, "device=1", (), (1,), id="the-containers-options-say-more"),
        pytest.param({}, '"device=1,2"', (), (1, 2), id="quoted"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "2"}, "device=1", ("gpus=3",), (3,), id="set-wins"),
        pytest.param({}, None, ("gpus=all",), (0, 1, 2, 3), id="all"),
        pytest.param({}, None, ("gpus=all", "CUDA_VISIBLE_DEVICES=2"), (2,), id="inside-the-container"),
        pytest.param({}, None, ("gpus=device=2,3", "CUDA_VISIBLE_DEVICES=1"), (3,), id="counted-within-what-it-gets"),
        pytest.param({}, None, ("gpus=none",), (), id="none"),
        pytest.param({}, None, ("gpus=device=9",), (9,), id="one-that-is-not-there"),
    ],
)
def test_a_container(env: dict[str, str], run: str | None, sets: tuple[str, ...], indices: tuple[int, ...]) -> None:
    assert choose(machine(env=env, run=run), *sets)[1].indices == indices


def test_on_a_live_machine_docker_shows_an_earlier_container() -> None:
    snapshot = machine(env={"CUDA_VISIBLE_DEVICES": "2"}, run="device=1")
    plan, choice = choose(snapshot, recorded=False)
    assert choice.indices == (2,)
    assert plan.container is not None
    assert plan.container.gpus == "device=2"


@pytest.mark.parametrize(
    ("env", "indices", "unclear"),
    [
        pytest.param({}, (0, 1), False, id="all"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1"}, (1,), False, id="one"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1,-1,0"}, (1,), False, id="stops-at-a-negative-number"),
        pytest.param({"CUDA_VISIBLE_DEVICES": ""}, (), False, id="empty-hides-all"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "GPU-8f1"}, (0, 1), True, id="uuid"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "7"}, (7,), False, id="not-there"),
    ],
)
def test_a_process(env: dict[str, str], indices: tuple[int, ...], unclear: bool) -> None:
    choice = choose(machine(2, env), profile="demo")[1]
    assert (choice.indices, choice.unclear) == (indices, unclear)


def test_used_cards_are_those_that_exist() -> None:
    snapshot = machine(2, {"CUDA_VISIBLE_DEVICES": "1,0,7"})
    plan, _ = choose(snapshot)
    assert [card.index for card in used_gpus(plan, snapshot, 1)] == [1]
    assert [card.index for card in used_gpus(plan, snapshot, 3)] == [1, 0]
    assert used_gpus(plan, Snapshot(), 1) == []


def test_who_decided_is_said() -> None:
    assert "device=0" in choose(machine())[1].decided_by
    assert "CUDA_VISIBLE_DEVICES=1" in choose(machine(env={"CUDA_VISIBLE_DEVICES": "1"}), profile="demo")[1].decided_by
