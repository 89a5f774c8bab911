"""What a container runtime needs before the machine is judged."""

from dataclasses import replace

import pytest

from moet_boot.errors import ArtefactMissingError, UsageError
from moet_boot.launch.docker_engine import EngineSilentError, ImageFacts
from moet_boot.supervise import container_runtime
from moet_boot.supervise.container_runtime import clear_for_container
from testing.container_plans import OPTIONS, container_plan
from testing.fake_engine import FakeEngine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    found = FakeEngine()
    monkeypatch.setattr(container_runtime, "connect", lambda: found)
    return found


def test_a_process_needs_nothing(engine: FakeEngine) -> None:
    assert clear_for_container(replace(container_plan(), container=None), True) == []
    assert engine.calls == []


def test_a_free_name_and_an_image_that_is_there(engine: FakeEngine) -> None:
    assert clear_for_container(container_plan(), True) == []
    assert engine.calls == ["find", "image"]


def test_an_image_is_fetched_only_when_asked(engine: FakeEngine) -> None:
    engine.images = {}
    assert clear_for_container(container_plan(), False) == []
    assert engine.pulled == []
    assert clear_for_container(container_plan(), True) == [f"fetched the image {OPTIONS.image}"]
    assert engine.pulled == [(OPTIONS.image, OPTIONS.image_arch)]


def test_an_image_that_cannot_be_fetched_ends_the_command(engine: FakeEngine) -> None:
    engine.images = {}
    engine.refuses["pull"] = ArtefactMissingError("manifest unknown")
    with pytest.raises(ArtefactMissingError):
        clear_for_container(container_plan(), True)


def test_an_image_that_is_there_is_not_fetched_again(engine: FakeEngine) -> None:
    engine.images = {OPTIONS.image: ImageFacts("sha256:1", "amd64", ())}
    clear_for_container(container_plan(), True)
    assert engine.pulled == []


def test_without_an_engine_the_preflight_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect() -> FakeEngine:
        raise EngineSilentError("it does not answer")

    monkeypatch.setattr(container_runtime, "connect", connect)
    assert clear_for_container(container_plan(), True) == []


def test_without_the_sdk_the_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect() -> FakeEngine:
        raise UsageError("the Docker SDK for Python is not installed")

    monkeypatch.setattr(container_runtime, "connect", connect)
    with pytest.raises(UsageError, match="SDK"):
        clear_for_container(container_plan(), False)
