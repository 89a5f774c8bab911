"""Lines of /proc/PID/stat."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.guard.processes import Births, Process, list_pids, parse_stat, read_process

TAIL = "S 10 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1000 200"


@pytest.mark.parametrize("name", ["sh", "VLLM::Worker", "a b", "(sd-pam)", ") S 1 1 1", "", "\n"])
def test_names_of_all_kinds(name: str) -> None:
    line = f"7 ({name}) {TAIL.format(start=4711)}\n".encode()
    assert parse_stat(line) == Process(7, name, "S", 10, 20, 30, 4711)


@pytest.mark.parametrize("line", [b"", b"7", b"7 (sh)", b"7 (sh) S 1 2", b"x (sh) " + TAIL.format(start=1).encode()])
def test_what_is_no_stat_line(line: bytes) -> None:
    assert parse_stat(line) is None


@given(st.binary(max_size=200))
def test_garbage_is_never_an_error(line: bytes) -> None:
    process = parse_stat(line)
    assert process is None or isinstance(process.pid, int)


def test_this_process() -> None:
    process = read_process(os.getpid())
    assert process is not None
    assert (process.pid, process.ppid, process.session) == (os.getpid(), os.getppid(), os.getsid(0))
    assert process.start > 0
    assert os.getpid() in list_pids()


def test_nobody() -> None:
    assert read_process(2**22 + 1) is None


def test_births_are_noticed() -> None:
    births = Births()
    assert births.any_new(), "before the first look anything may have happened"
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    assert births.any_new()
    births.close()
