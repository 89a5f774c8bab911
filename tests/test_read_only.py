"""A preflight only reads: watched from inside by an audit hook, and from outside by what is left afterwards."""

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.silent_docker import silent_docker
from tests.watched_run import change_of

ROOT = Path(__file__).parents[1]
TINY_PLANES = ROOT / "tests" / "data" / "golden" / "vii_moet2pf" / "tiny_own.moet2pf"
READERS_MAY_RUN = ("-m moet_boot.machine.nvml", "nvidia-ctk --version")
"""Programs that the recorder starts: they ask, and change nothing (nvml: see the last test)."""


@dataclass(frozen=True)
class Watched:
    code: int
    changes: list[str]
    document: dict[str, Any]


def watched(home: Path, *argv: str, docker: Path | None = None) -> Watched:
    """Run a command under the audit hook, in a home of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MOET_BOOT_", "XDG_", "DOCKER_"))}
    env |= {
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
        "DOCKER_HOST": f"unix://{docker or home / 'no.sock'}",
        "MOET_BOOT_STATE_DIR": str(home / "state"),
    }
    command = [sys.executable, "-m", "tests.watched_run", *argv, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=home, check=False, timeout=50)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stderr.strip().splitlines()[-1])
    return Watched(report["code"], report["changes"], json.loads(done.stdout))


def unexpected(changes: list[str]) -> list[str]:
    return [change for change in changes if not any(program in change for program in READERS_MAY_RUN)]


def tree(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every entry below a folder with mode, size and the time of its last change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def kernel_settings() -> dict[str, str]:
    """Everything in /proc/sys/vm that this user may read."""
    found = {}
    for path in Path("/proc/sys/vm").iterdir():
        try:
            found[path.name] = path.read_text()
        except OSError:
            continue
    return found


def children() -> set[int]:
    """Living processes below this one, the orphans of other tests among them."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with artefacts where the profiles look for them."""
    models = tmp_path / "home" / "models"
    checkpoint = models / "DeepSeek-V4-Flash"
    checkpoint.mkdir(parents=True)
    (checkpoint / "config.json").write_text("{}")
    (checkpoint / "model-00001-of-00001.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    shutil.copy(TINY_PLANES, models / "ds4-planes.moet2pf")
    (models / "planescache" / "tp1-rank0").mkdir(parents=True)
    (models / "moet_store").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize(
    "profile", ["spark", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rtx6000-a", "demo"))]
)
def test_a_live_preflight_changes_nothing(profile: str, home: Path, tmp_path: Path) -> None:
    before, settings, family = tree(home), kernel_settings(), children()
    socket = tmp_path / "d.sock"
    with silent_docker(socket) as asked:
        seen = watched(home, "preflight", "--profile", profile, "--verify", "full", docker=socket)
    assert seen.document["verdict"] == "refuse"
    assert unexpected(seen.changes) == []
    assert tree(home) == before
    assert kernel_settings() == settings
    assert children() <= family
    assert asked
    assert [request for request in asked if not request.startswith("GET ")] == []
    slots = next(f for f in seen.document["findings"] if f["id"] == "PLANE.SLOTS")
    assert (slots["measured"] == "no bad slot (full)") is (profile == "spark"), "the planes were really read"


def test_without_a_machine_nothing_is_started_at_all(home: Path) -> None:
    before = tree(home)
    case = ROOT / "tests" / "data" / "field" / "spark-tn-nvml-not-supported.json"
    seen = watched(home, "preflight", "--profile", "spark", "--snapshot", str(case))
    assert (seen.code, seen.changes) == (0, [])
    assert tree(home) == before


def test_a_dry_run_writes_the_report_that_was_asked_for_and_nothing_else(home: Path) -> None:
    seen = watched(home, "preflight", "--profile", "spark", "--dry-run", "--junit", str(home / "report.xml"))
    assert seen.code == 0
    assert seen.changes
    assert [change for change in seen.changes if "report.xml" not in change] == []


def test_the_watch_sees_what_it_must() -> None:
    assert change_of("os.kill", (1, 9))
    assert change_of("os.kill", (1, 0)) is None
    assert change_of("open", ("/dev/null", None, os.O_RDWR)) is None
    assert change_of("open", ("/x", "r", os.O_RDONLY)) is None
    assert change_of("subprocess.Popen", ("sh", ["sh", "-c", "x"], None, None)) == "run sh -c x"


def test_of_nvml_only_questions_are_called() -> None:
    """State of the GPU stays as it is: no name of the binding that is used could set anything."""
    allowed = ("nvmlInit", "nvmlShutdown", "nvmlDeviceGet", "nvmlSystemGet", "nvmlErrorString", "nvmlMemory_v2", "NVML")
    used = {
        node.attr
        for path in (ROOT / "moet_boot").rglob("*.py")
        if "pynvml" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pynvml"
    }
    assert used
    assert [name for name in sorted(used) if not name.startswith(allowed)] == []
