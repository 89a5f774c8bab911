import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.processes import (
    LARGE_BYTES,
    Seen,
    keep_options,
    list_processes,
    matters,
    pick_processes,
    read_processes,
)


def seen(name: str, *argv: str, pid: int = 100, ppid: int = 50, rss: int = 0) -> Seen:
    return Seen(pid=pid, ppid=ppid, name=name, argv=argv, rss_bytes=rss)


@pytest.mark.parametrize(
    "process",
    [
        pytest.param(seen("earlyoom", "/usr/bin/earlyoom", "-m", "10"), id="earlyoom"),
        pytest.param(seen("systemd-oomd"), id="systemd-oomd"),
        pytest.param(seen("VLLM::EngineCor", "VLLM::EngineCore"), id="engine-core"),
        pytest.param(seen("VLLM::Worker"), id="worker"),
        pytest.param(seen("vllm", "/venv/bin/python3", "/venv/bin/vllm", "serve"), id="vllm"),
        pytest.param(seen("python3", "python3", "-m", "vllm.entrypoints.openai.api_server"), id="vllm-as-a-module"),
        pytest.param(seen("ollama", "ollama", "serve"), id="ollama"),
        pytest.param(seen("llama-server"), id="llama-server"),
        pytest.param(seen("moet-boot"), id="another-moet-boot"),
        pytest.param(seen("python3", "python3", "-m", "moet_boot.guard"), id="guard-of-another"),
        pytest.param(seen("sshd", ppid=1), id="the-ssh-daemon"),
        pytest.param(seen("java", rss=LARGE_BYTES), id="large"),
    ],
)
def test_processes_that_matter(process: Seen) -> None:
    assert matters(process)


@pytest.mark.parametrize(
    "process",
    [
        pytest.param(seen("bash", "bash", "-c", "vllm serve"), id="shell-that-names-it"),
        pytest.param(seen("python3", "python3", "-m", "http.server"), id="other-module"),
        pytest.param(seen("python3", "python3", "-m", "vllmish"), id="other-module-with-a-like-name"),
        pytest.param(seen("python3", "python3", "-m", "moet_boot.machine.nvml"), id="a-reader-of-this-snapshot"),
        pytest.param(seen("sshd", ppid=700), id="ssh-session"),
        pytest.param(seen("java", rss=LARGE_BYTES - 1), id="not-large"),
        pytest.param(seen("kswapd0"), id="kernel-thread"),
        pytest.param(seen("array::x"), id="name-within-a-name"),
    ],
)
def test_processes_that_do_not(process: Seen) -> None:
    assert not matters(process)


@pytest.mark.parametrize(
    ("argv", "kept"),
    [
        pytest.param(["earlyoom", "-m", "10", "-s", "100"], "-m 10 -s 100", id="thresholds"),
        pytest.param(["earlyoom", "-m", "10,5", "-M", "5242880"], "-m 10,5 -M 5242880", id="pairs"),
        pytest.param(["earlyoom", "--prefer", "(^|/)vllm$"], "--prefer", id="pattern"),
        pytest.param(["vllm", "serve", "/home/me/m", "--port", "8001"], "--port 8001", id="no-paths"),
        pytest.param(["vllm", "--gpu-memory-utilization=0.7"], "--gpu-memory-utilization=0.7", id="equals"),
        pytest.param(["vllm", "--api-key", "12345"], "--api-key", id="secret-of-digits"),
        pytest.param(["vllm", "--api-key=12345"], "--api-key", id="secret-after-equals"),
        pytest.param(["vllm", "--host", "10"], "--host", id="address"),
        pytest.param(["vllm", "--model=/data/x"], "--model", id="path-after-equals"),
        pytest.param(["vllm", "--host", "10.0.0.1"], "--host", id="address-with-dots"),
        pytest.param(["systemd-oomd"], None, id="no-options"),
        pytest.param(["x", "5", "6"], None, id="words-without-options"),
        pytest.param(["x", "-a=1", "2"], "-a=1", id="one-value-only"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_options_and_their_numbers_are_kept(argv: list[str], kept: str | None) -> None:
    assert keep_options(tuple(argv)) == kept


@given(st.lists(st.text(max_size=12), max_size=8))
def test_no_word_is_kept_that_is_neither_option_nor_number(argv: list[str]) -> None:
    kept = keep_options(tuple(argv)) or ""
    words = [word for word in argv[1:] if not word.startswith("-")]
    assert all(word not in kept.split() or not word.isalpha() for word in words)


def test_ours_are_left_out_and_the_rest_is_described() -> None:
    listed = [
        seen("vllm", "vllm", "serve", "--port", "8001", pid=7, ppid=1, rss=500),
        seen("vllm", pid=8),
        seen("bash", pid=9),
    ]
    (process,) = pick_processes(listed, ours=frozenset({8}), oom_score_adj=lambda pid: pid * 10)
    assert (process.name, process.pid, process.ppid, process.args) == ("vllm", 7, 1, "--port 8001")
    assert (process.rss_bytes, process.oom_score_adj) == (500, 70)


RUNS = "print(flush=True); input()"


def seen_once_it_runs(command: list[Any]) -> list[Seen]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = [process for process in list_processes() if process.pid == child.pid]
        child.kill()
    return found


def test_a_real_process_is_listed_with_its_parent() -> None:
    (process,) = seen_once_it_runs([sys.executable, "-c", RUNS])
    assert process.ppid == os.getpid()
    assert process.rss_bytes > 0
    assert process.argv[1:] == ("-c", RUNS)


def test_a_command_line_of_any_bytes_is_text() -> None:
    (process,) = seen_once_it_runs([sys.executable.encode(), b"-c", RUNS.encode(), b"--\xff\xfe"])
    assert process.argv[-1] == "--??"


def test_a_real_server_is_found_and_this_process_is_not() -> None:
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b'VLLM::Worker', 0, 0, 0); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = {process.pid: process for process in read_processes()}
        child.kill()
    assert found[child.pid].name == "VLLM::Worker"
    assert found[child.pid].oom_score_adj is not None
    assert os.getpid() not in found
