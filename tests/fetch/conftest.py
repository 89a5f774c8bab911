"""A running hub for each test that wants one, and no token of the user's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fetch.fake_hub import FakeHub, serving
from tests.fetch.scene import hub_with_model


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user of this machine is logged in to must not leak into a test, nor a proxy."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeHub]:
    """A hub with a checkpoint and a plane file."""
    with serving(hub_with_model(tmp_path)) as hub:
        yield hub
