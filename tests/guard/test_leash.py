"""The leash: it ends as its command ended, and nothing of the command outlives it or its holder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moet_boot.guard.leash import leash_for, leashed
from moet_boot.guard.processes import read_process
from tests.guard.unruly import PATIENCE_S, TREES, named, number, python, shell, until, within

ESCAPES = {name: program for name, program in TREES.items() if name != "ignores TERM"}
HOLDER = """
import subprocess, sys, time
from moet_boot.guard.leash import leash_for, leashed
command = leashed(["sh", "-c", *sys.argv[2:]]) if sys.argv[1] == "run" else leash_for(int(sys.argv[2]))
process = subprocess.Popen(command, start_new_session=True)
print(process.pid, flush=True)
time.sleep(60)
"""


@contextmanager
def on_leash(program: str, n: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = leashed(["sh", "-c", program.format(n=n), str(n)])
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        for pid in named(n):
            os.kill(pid, 9)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 137", 137),
        ("kill -KILL $$", -signal.SIGKILL),
        ("kill -TERM $$", -signal.SIGTERM),
        ("kill -SEGV $$", -signal.SIGSEGV),
    ],
)
def test_it_ends_as_its_command_ended(program: str, code: int) -> None:
    with on_leash(program, number()) as leash:
        assert leash.wait(PATIENCE_S) == code


def test_a_command_that_cannot_be_run() -> None:
    with on_leash("", number()):
        done = subprocess.run(leashed(["/no/such/program"]), capture_output=True, check=False)
    assert done.returncode == 127
    assert done.stderr == b"moet-boot: cannot run /no/such/program: No such file or directory\n"


def test_the_command_gets_environment_arguments_and_streams_as_they_are() -> None:
    code = "import os, sys; print(sys.argv[1:], os.environ['X'], 'PYTHONPATH' in os.environ, sys.stdin.read())"
    done = subprocess.run(
        leashed([sys.executable, "-c", code, "-c", "a b", ""]),
        env={"X": "1", "PATH": os.environ["PATH"]},
        input=b"words",
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().split("\n")[0] == "['-c', 'a b', ''] 1 False words"


def test_the_command_has_ordinary_signals() -> None:
    """Python ignores SIGPIPE; a server that inherited that would behave differently under moet-boot."""
    masks = subprocess.run(leashed(["cat", "/proc/self/status"]), capture_output=True, check=True).stdout.decode()
    fields = dict(line.split(":\t", 1) for line in masks.splitlines() if ":\t" in line)
    assert int(fields["SigIgn"], 16) == 0
    assert int(fields["SigBlk"], 16) == 0


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1"])
def test_signals_are_passed_on(tmp_path: Path, name: str) -> None:
    ready = tmp_path / "ready"
    with on_leash(f"trap 'exit 5' {name}; : >'{ready}'; while :; do sleep 0.01; done", number()) as leash:
        assert until(ready.exists)
        leash.send_signal(getattr(signal, f"SIG{name}"))
        assert leash.wait(PATIENCE_S) == 5


def name_of(pid: int) -> bytes:
    process = read_process(pid)
    return process.name.encode() if process else b""


@pytest.mark.parametrize("program", ESCAPES.values(), ids=ESCAPES.keys())
def test_what_the_command_leaves_behind_is_swept(program: str) -> None:
    n = number()
    with on_leash(f"({program.replace('exec ', '')}) & sleep 0.1; exit 4", n) as leash:
        assert leash.wait(PATIENCE_S) == 4
        assert named(n) == []


@pytest.mark.parametrize("program", TREES.values(), ids=TREES.keys())
def test_when_the_holder_is_killed_everything_is_gone_within_a_second(program: str) -> None:
    assert within(1.0, lambda: seconds_of_a_sweep(program))


def seconds_of_a_sweep(program: str) -> float:
    n, decoy = number(), number()
    with shell("sleep {n} & wait", decoy), python(HOLDER, "run", program.format(n=n), n) as holder:
        assert holder.stdout is not None
        leash = int(holder.stdout.readline())
        assert until(lambda: len(named(n)) >= 2 and not any(read_process(p) is None for p in named(n)))
        time.sleep(0.05)
        holder.kill()
        killed = time.monotonic()
        assert until(lambda: not [pid for pid in named(n) if pid != holder.pid])
        taken = time.monotonic() - killed
        assert until(lambda: (found := read_process(leash)) is None or found.state == "Z")
        assert len(named(decoy)) == 2
    return taken


def test_when_the_leash_is_killed_the_command_dies_with_it() -> None:
    n = number()
    with on_leash("exec sleep {n}", n) as leash:
        assert until(lambda: [name_of(pid) for pid in named(n)] == [b"sleep"])
        leash.kill()
        assert until(lambda: not named(n))


def test_a_holder_that_died_before_it_was_held_starts_nothing() -> None:
    n = number()
    command = leashed(["sleep", str(n)])
    command[command.index("--") - 2] = "1"  # a supervisor that is not the parent, as after its death
    assert subprocess.run(command, check=False).returncode == 128 + 9
    assert named(n) == []


class TestLeashForOthers:
    def test_kills_when_its_holder_is_killed(self) -> None:
        n = number()
        with shell("setsid sleep {n} & wait", n) as server, python(HOLDER, "watch", server.pid) as holder:
            assert holder.stdout is not None
            leash = int(holder.stdout.readline())
            assert until(lambda: b"moet-leash" in name_of(leash))
            time.sleep(0.1)
            holder.kill()
            assert until(lambda: not named(n))

    def test_signals_are_not_passed_on_to_what_it_did_not_start(self) -> None:
        with shell("exec sleep {n}", number()) as server:
            leash = subprocess.Popen(leash_for(server.pid))
            assert until(lambda: b"moet-leash" in name_of(leash.pid))
            leash.terminate()
            time.sleep(0.1)
            assert server.poll() is None
            assert leash.poll() is None
            leash.kill()
            leash.wait()
            assert server.poll() is None

    def test_ends_when_there_is_nothing_left_to_hold(self) -> None:
        with shell("exec sleep {n}", number()) as server:
            leash = subprocess.Popen(leash_for(server.pid))
            assert until(lambda: b"moet-leash" in name_of(leash.pid))
            server.kill()
            assert leash.wait(PATIENCE_S) == 0
