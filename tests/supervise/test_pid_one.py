"""Process 1 as a real process: a subreaper of its own stands for the container."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from moet_boot.cli.main import run
from moet_boot.supervise import pid_one

PROGRAM = """
import os, signal, sys, time
from moet_boot.guard.linux import adopt_orphans
from moet_boot.supervise.pid_one import fork_below_init

adopt_orphans()
ended = fork_below_init()
if ended is not None:
    print("init", ended, flush=True)
    sys.exit(ended)
{child}
"""
WAITS = 'print("child", os.getpid(), flush=True)\nwhile True:\n    time.sleep(0.05)'
"""In small steps: Python runs a handler between two calls, and a signal just before one long sleep waits for its end."""


@contextmanager
def init(child: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(child=child)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        for below in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            below.kill()
        process.kill()
        process.communicate()


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("code", [0, 3, 70])
def test_it_ends_as_its_child_ends(code: int) -> None:
    with init(f"sys.exit({code})") as process:
        assert line(process) == f"init {code}"
        assert process.wait(30) == code


def test_a_killed_child_is_told_as_a_shell_tells_it() -> None:
    with init("os.kill(os.getpid(), 9)") as process:
        assert process.wait(30) == 137


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]
)
def test_signals_reach_the_child(number: signal.Signals) -> None:
    child = f"signal.signal({int(number)}, lambda *_: os._exit(42))\n{WAITS}"
    with init(child) as process:
        assert line(process).startswith("child")
        process.send_signal(number)
        assert process.wait(30) == 42


def test_a_signal_before_the_child_has_a_handler_ends_it() -> None:
    with init("time.sleep(60)") as process:
        deadline = time.monotonic() + 30
        while not psutil.Process(process.pid).children():
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143


def test_orphans_are_collected_and_nobody_elses_end_ends_it() -> None:
    child = (
        "for _ in range(5):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(7)\n"
        "        os._exit(0)\n"
        "    os.wait()\n" + WAITS
    )
    with init(child) as process:
        assert line(process).startswith("child")
        deadline = time.monotonic() + 30
        while len(psutil.Process(process.pid).children()) > 1:
            assert time.monotonic() < deadline, "zombies stay"
            time.sleep(0.01)
        assert process.poll() is None


def test_the_child_has_the_signal_mask_that_was_there_before() -> None:
    with init("print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)") as process:
        assert line(process) == "[]"


def test_a_child_that_waits_for_its_own_children_gets_their_codes() -> None:
    child = "import subprocess\nprint(subprocess.run(['sh', '-c', 'exit 9']).returncode, flush=True)"
    with init(child) as process:
        assert line(process) == "9"


@pytest.mark.parametrize(("pid", "expected"), [(1, 9), (2, None)], ids=["process-1", "another"])
def test_only_process_1_gets_its_duties(monkeypatch: pytest.MonkeyPatch, pid: int, expected: int | None) -> None:
    monkeypatch.setattr(os, "getpid", lambda: pid)
    monkeypatch.setattr(pid_one, "fork_below_init", lambda: 9)
    assert pid_one.init_apart() == expected


@pytest.mark.parametrize("command", [["serve", "--profile", "demo"], ["entrypoint"]], ids=lambda words: words[0])
def test_as_process_1_a_command_ends_as_the_process_below_it(
    monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(pid_one, "init_apart", lambda: 9)
    assert run(command) == 9


HELD = """
import os, signal, sys, time
from moet_boot.supervise.pid_one import fork_below_init, hold_signals, let_signals_through
from moet_boot.supervise.signals import leave_on_signals

myself = os.getpid()
os.getpid = lambda: {pid}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(99))
hold_signals(["{command}"])
os.kill(myself, signal.SIGTERM)
{then}
"""
EXEC_MODE = "leave_on_signals()\nlet_signals_through()\nsys.exit(98)"
SUPERVISE = "ended = fork_below_init()\nif ended is None:\n    while True: time.sleep(0.05)\nsys.exit(ended)"


@pytest.mark.parametrize(
    ("pid", "command", "then", "code"),
    [
        (1, "entrypoint", EXEC_MODE, 143),
        (1, "entrypoint", SUPERVISE, 99),
        (1, "preflight", EXEC_MODE, 99),
        (7, "entrypoint", EXEC_MODE, 99),
    ],
    ids=["to whoever listens", "to the child", "only the entrypoint waits", "only process 1 waits"],
)
def test_a_signal_that_comes_before_anybody_listens_waits(pid: int, command: str, then: str, code: int) -> None:
    """99 is the handler from before: what an interpreter has at its start, and process 1 has not."""
    program = HELD.format(pid=pid, command=command, then=then)
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=20).returncode == code
