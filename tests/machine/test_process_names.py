import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moet_boot.machine.process_names import full_name, may_be_alive, process_name
from moet_boot.machine.tree import Tree
from tests.machine.trees import tree_of


@pytest.mark.parametrize(
    ("name", "argv", "known_as"),
    [
        pytest.param("VLLM::EngineCor", ("VLLM::EngineCore   ",), "VLLM::EngineCore", id="cut-at-15-characters"),
        pytest.param("VLLM::Worker", ("VLLM::Worker",), "VLLM::Worker", id="title"),
        pytest.param("low-memory-moni", ("/usr/libexec/low-memory-monitor",), "low-memory-monitor", id="path"),
        pytest.param("python3", ("python3", "-m", "vllm.entrypoints.x"), "python3 -m vllm.entrypoints.x", id="module"),
        pytest.param("python3", ("python3", "-m"), "python3", id="option-without-module"),
        pytest.param("python3", ("/venv/bin/python3", "x.py"), "python3", id="script"),
        pytest.param("vllm", ("/venv/bin/python3", "/venv/bin/vllm"), "vllm", id="script-with-its-own-name"),
        pytest.param("kswapd0", (), "kswapd0", id="kernel-thread"),
        pytest.param("x", ("",), "x", id="empty-command"),
    ],
)
def test_full_names(name: str, argv: tuple[str, ...], known_as: str) -> None:
    assert full_name(name, argv) == known_as


def test_a_name_from_proc(tmp_path: Path) -> None:
    files = {"/proc/7/comm": "VLLM::EngineCor\n", "/proc/7/cmdline": "VLLM::EngineCore\0\0\0"}
    assert process_name(tree_of(tmp_path, files), 7) == "VLLM::EngineCore"


def test_a_process_that_ended(tmp_path: Path) -> None:
    assert process_name(tree_of(tmp_path, {}), 7) is None


def test_a_running_process() -> None:
    assert (process_name(Tree(), os.getpid()) or "").startswith(("python", "pytest"))
    assert may_be_alive(os.getpid())


def test_a_process_that_was_collected_is_dead_unless_another_namespace_hides_it() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    in_container = Path("/proc/self/ns/pid").readlink().name != "pid:[4026531836]"
    assert may_be_alive(ended.pid) is in_container


def test_inside_a_container_nobody_is_declared_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "readlink", lambda _: "pid:[4026532000]")
    assert may_be_alive(2**22 + 5)


def test_a_kernel_that_does_not_say_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "readlink", denied)
    assert may_be_alive(1)


def test_the_engine_is_recognized_although_its_name_is_cut() -> None:
    code = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'VLLM::EngineCore', 0, 0, 0); print(flush=True); input()"
    assert ctypes.sizeof(ctypes.c_char) == 1
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert process_name(Tree(), child.pid) == "VLLM::EngineCor"
        child.kill()
