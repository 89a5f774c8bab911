"""Process trees that try to get away, and ways to look at them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from moet_boot.guard.processes import list_pids, read_process

TREES = {
    "alone": "exec sleep {n}",
    "children": "sleep {n} & sleep {n} & wait",
    "grandchildren": "(sh -c 'sleep {n} & wait' {n} & wait) & wait",
    "setsid": "setsid sleep {n} & setsid sh -c 'sleep {n} & wait' {n} & wait",
    "double fork": "(setsid sleep {n} &) ; (sleep {n} &) ; sleep {n}",
    "ignores TERM": "trap '' TERM INT HUP; sleep {n} & while :; do wait; sleep 0.1; done",
}
"""Shell programs; every process of theirs has the number {n} on its command line."""


def named(number: int) -> list[int]:
    """The living processes whose command line says this number."""
    word = str(number).encode()
    found = []
    for pid in list_pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        process = read_process(pid)
        if process and process.state != "Z" and pid != os.getpid() and word in words:
            found.append(pid)
    return found


PATIENCE_S = 30.0
"""A machine with other work is slow, and that is no failure; one at rest never waits this long."""


def until(happened: Callable[[], object]) -> bool:
    """Wait for something, in small steps; whether it happened at all."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.01)
    return bool(happened())


def within(limit_s: float, seconds_taken: Callable[[], float], tries: int = 5) -> bool:
    """Whether it can be this quick: other work on the machine may spoil a try, and slowness by design spoils all."""
    return any(seconds_taken() < limit_s for _ in range(tries))


_numbers = count(1)


def number() -> int:
    """A number that no other process says, nor the tests of another run on this machine."""
    return os.getpid() * 10_000 + next(_numbers)


@contextmanager
def shell(program: str, n: int, *, session: bool = True) -> Iterator["subprocess.Popen[bytes]"]:
    """A shell program; whatever is left of it is gone afterwards."""
    process = subprocess.Popen(["sh", "-c", program.format(n=n), str(n)], start_new_session=session)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pid in named(n):
            os.kill(pid, 9)


def after(signal_file: Path, program: str) -> str:
    """The program, begun when a file appears: the shell can be put into a group before it has children."""
    return f"until [ -e '{signal_file}' ]; do :; done; {program}"


@contextmanager
def python(code: str, *arguments: object) -> Iterator["subprocess.Popen[bytes]"]:
    """A Python program with its output in a pipe."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
