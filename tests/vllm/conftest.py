"""The real engine and the tiny model that `scripts/install_engine` makes."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _there(variable: str, default: str) -> Path:
    path = Path(os.environ.get(variable, ROOT / default))
    if not path.exists():
        pytest.fail(f"{path} is missing: run scripts/install_engine, or set {variable}", pytrace=False)
    return path


@pytest.fixture(scope="session")
def engine() -> Path:
    """The program `vllm` of the CPU engine."""
    return _there("MOET_BOOT_ENGINE", ".demo/engine/bin/vllm")


@pytest.fixture(scope="session")
def model() -> Path:
    """The folder of the tiny model."""
    return _there("MOET_BOOT_DEMO_MODEL", ".demo/model")
