"""Signals before anything runs: a real process each time."""

import signal
import subprocess
import sys

import pytest

EARLY = """
import os, sys
from moet_boot.supervise.signals import SignalQueue, leave_on_signals

leave_on_signals()
if len(sys.argv) > 2:
    queue = SignalQueue()
    queue.install()
    left = queue.take
else:
    left = dict
os.kill(os.getpid(), int(sys.argv[1]))
print("still here", left())
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)], ids=["TERM", "HUP", "INT"]
)
def test_an_early_signal_ends_with_its_code(number: signal.Signals, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", EARLY, str(int(number))], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("install", [[], ["install"]], ids=["early", "queue"])
def test_who_was_started_with_nohup_outlives_the_terminal(install: list[str]) -> None:
    command = ["nohup", sys.executable, "-c", EARLY, "1", *install]
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert done.stdout.startswith("still here")


def test_a_queue_takes_over() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY, "1", "install"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "still here 1\n")
