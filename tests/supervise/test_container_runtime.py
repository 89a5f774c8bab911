"""What a container runtime needs before the machine is judged."""

from dataclasses import replace

import pytest

from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.launch.docker_engine import ANSWER_S, EngineSilentError, ImageFacts
from moet_boot.launch.plan import LaunchPlan
from moet_boot.supervise import container_runtime
from moet_boot.supervise.container_runtime import clear_for_container
from testing.container_plans import OPTIONS, container_plan
from testing.fake_engine import FakeEngine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    found = FakeEngine()
    monkeypatch.setattr(container_runtime, "connect", lambda _answer_s: found)
    return found


def cleared(plan: LaunchPlan, *, pull: bool) -> list[str]:
    return list(clear_for_container(plan, pull))


def test_a_process_needs_nothing(engine: FakeEngine) -> None:
    assert cleared(replace(container_plan(), container=None), pull=True) == []
    assert engine.calls == []


def test_a_free_name_and_an_image_that_is_there(engine: FakeEngine) -> None:
    assert cleared(container_plan(), pull=True) == []
    assert engine.calls == ["find", "image"]


def test_an_image_is_fetched_only_when_asked(engine: FakeEngine) -> None:
    engine.images = {}
    assert cleared(container_plan(), pull=False) == []
    assert engine.pulled == []
    said = cleared(container_plan(), pull=True)
    assert [words.partition(";")[0] for words in said] == [
        f"fetching the image {OPTIONS.image}",
        f"fetched the image {OPTIONS.image}",
    ]
    assert engine.pulled == [(OPTIONS.image, OPTIONS.image_arch)]


def test_an_image_that_cannot_be_fetched_ends_the_command(engine: FakeEngine) -> None:
    engine.images = {}
    engine.refuses["pull"] = ArtefactMissingError("manifest unknown")
    with pytest.raises(ArtefactMissingError):
        cleared(container_plan(), pull=True)


def test_an_image_that_is_there_is_not_fetched_again(engine: FakeEngine) -> None:
    engine.images = {OPTIONS.image: ImageFacts("amd64", ("sha256:1",))}
    cleared(container_plan(), pull=True)
    assert engine.pulled == []


def test_without_an_engine_the_preflight_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(_answer_s: float) -> FakeEngine:
        raise EngineSilentError("it does not answer")

    monkeypatch.setattr(container_runtime, "connect", connect)
    assert cleared(container_plan(), pull=True) == []


def test_without_the_sdk_the_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(_answer_s: float) -> FakeEngine:
        raise UsageError("the Docker SDK for Python is not installed")

    monkeypatch.setattr(container_runtime, "connect", connect)
    with pytest.raises(UsageError, match="SDK"):
        cleared(container_plan(), pull=False)


def test_a_pull_may_be_silent_for_long_and_anything_else_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []
    engine = FakeEngine()
    engine.images = {}

    def connect(answer_s: float) -> FakeEngine:
        patience.append(answer_s)
        return engine

    monkeypatch.setattr(container_runtime, "connect", connect)
    cleared(container_plan(), pull=True)
    assert patience == [ANSWER_S, container_runtime.PULL_SILENCE_S]


def test_it_is_said_before_the_fetching_begins(engine: FakeEngine) -> None:
    engine.images = {}
    words = clear_for_container(container_plan(), True)
    assert next(words).startswith("fetching")
    assert engine.pulled == []
