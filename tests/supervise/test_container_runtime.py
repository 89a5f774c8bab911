"""What a container runtime needs before the machine is judged."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.launch.docker_engine import ANSWER_S, ContainerState, EngineSilentError, ImageFacts
from moet_boot.machine.container_labels import SUPERVISOR_LABEL
from moet_boot.machine.supervisor_mark import own_mark
from moet_boot.supervise import container_runtime
from moet_boot.supervise.container_runtime import PULL_SILENCE_S, end_orphans, fetch_image
from testing.container_plans import OPTIONS, container_plan
from testing.fake_engine import FakeEngine

GONE = f"{own_mark().partition(':')[0]}:4194304:1"


@pytest.fixture
def patience() -> list[float]:
    """How long each connection waits for an answer."""
    return []


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, patience: list[float]) -> FakeEngine:
    found = FakeEngine()

    def connect(answer_s: float) -> FakeEngine:
        patience.append(answer_s)
        return found

    monkeypatch.setattr(container_runtime, "connect", connect)
    return found


def fetched() -> list[str]:
    return list(fetch_image(container_plan()))


def test_a_process_needs_no_image(engine: FakeEngine) -> None:
    assert list(fetch_image(replace(container_plan(), container=None))) == []
    assert engine.calls == []


def test_a_missing_image_is_fetched_and_that_is_said_before_it_begins(engine: FakeEngine) -> None:
    engine.images = {}
    words = fetch_image(container_plan())
    assert next(words).startswith(f"fetching the image {OPTIONS.image};")
    assert engine.pulled == []
    assert list(words) == [f"fetched the image {OPTIONS.image}"]
    assert engine.pulled == [(OPTIONS.image, OPTIONS.image_arch)]


def test_an_image_that_cannot_be_fetched_ends_the_command(engine: FakeEngine) -> None:
    engine.images = {}
    engine.refuses["pull"] = ArtefactMissingError("manifest unknown")
    with pytest.raises(ArtefactMissingError):
        fetched()


def test_an_image_that_is_there_is_not_fetched_again(engine: FakeEngine) -> None:
    engine.images = {OPTIONS.image: ImageFacts("amd64", ("sha256:1",))}
    assert fetched() == []
    assert engine.pulled == []


def test_a_container_that_runs_without_its_moet_boot_is_ended_whatever_its_name(engine: FakeEngine) -> None:
    running = ContainerState("c9", "another-name", "running", 4711, 0, False, "", "", {SUPERVISOR_LABEL: GONE})
    engine.existing = running
    engine.answers = [running, running, replace(running, pid=None)]
    assert end_orphans() == ["ended the container another-name, which a moet-boot that has ended had left running"]
    assert engine.calls == ["list", "find", "find", "signal SIGTERM", "find", "remove"]


def test_where_nothing_runs_nothing_is_done(engine: FakeEngine) -> None:
    assert end_orphans() == []
    assert engine.calls == ["list"]


@pytest.mark.parametrize("ask", [end_orphans, fetched])
def test_without_an_engine_the_preflight_says_why(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[], list[str]]
) -> None:
    def connect(_answer_s: float) -> FakeEngine:
        raise EngineSilentError("it does not answer")

    monkeypatch.setattr(container_runtime, "connect", connect)
    assert ask() == []


@pytest.mark.parametrize("ask", [end_orphans, fetched])
def test_without_the_sdk_the_command_ends(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], list[str]]) -> None:
    def connect(_answer_s: float) -> FakeEngine:
        raise UsageError("the Docker SDK for Python is not installed")

    monkeypatch.setattr(container_runtime, "connect", connect)
    with pytest.raises(UsageError, match="SDK"):
        ask()


def test_a_pull_may_be_silent_for_long_and_anything_else_may_not(engine: FakeEngine, patience: list[float]) -> None:
    end_orphans()
    fetched()
    assert patience == [ANSWER_S, PULL_SILENCE_S]
