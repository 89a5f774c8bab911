"""What every test gets: folders of its own for state; a skipped test fails."""

import gc
import os
import signal
from collections.abc import Generator
from itertools import count
from typing import TypeVar

import pytest
from hypothesis import settings

# on a busy machine a slow example is no failure; 25 examples keep the unit suite under a minute on two cores
settings.register_profile("moet-boot", deadline=None, max_examples=25)
settings.load_profile("moet-boot")

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # a run under nohup: what the tests start is to have the signals of an ordinary shell, as after an exec
    signal.signal(signal.SIGHUP, lambda *_: None)

# programs that the tests start keep what they compiled, or each of a hundred compiles all of moet-boot afresh
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# and print as they do for a user: a full disk shows at another moment when every word is written at once
os.environ.pop("PYTHONUNBUFFERED", None)

_HOMES = count()

ReportT = TypeVar("ReportT", pytest.TestReport, pytest.CollectReport)


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not look at them each time."""
    gc.freeze()


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test does may land in the user's own state, configuration or environment."""
    for name in list(os.environ):
        if name.startswith("MOET_BOOT_") and name not in {
            "MOET_BOOT_ENGINE",
            "MOET_BOOT_DEMO_MODEL",
            "MOET_BOOT_TEST_DOCKER",
        }:
            monkeypatch.delenv(name)
    # only a name: most tests write nothing, and making a folder for each of thousands takes its time
    home = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"
    monkeypatch.setenv("MOET_BOOT_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("MOET_BOOT_RUNTIME_DIR", str(home / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


def _told(report: ReportT) -> ReportT:
    """A skipped test fails: whatever it needs is missing, and somebody must know."""
    if report.skipped and os.environ.get("MOET_BOOT_ALLOW_SKIPS") != "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, and a test that was not run proves nothing: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of one test."""
    return _told((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of a whole file."""
    return _told((yield))
