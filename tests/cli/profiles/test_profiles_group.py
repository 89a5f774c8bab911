import subprocess
import sys

import pytest

from moet_boot.cli.profiles import COMMANDS
from moet_boot.exits import Exit
from tests.cli.profiles.commands import profiles


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(COMMANDS) == ["list", "show", "explain", "diff", "check", "schema", "recommend"]
    said = profiles(capsys, "--help")
    assert said.code == 0
    assert all(name in said.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_that_names_the_command(capsys: pytest.CaptureFixture[str], command: str) -> None:
    said = profiles(capsys, command, "--help")
    assert said.code == 0
    assert f"moet-boot profiles {command}" in said.out
    assert "Example" in said.out
    assert "--json" in said.out


@pytest.mark.parametrize(
    ("command", "argument"),
    [("show", "sprak"), ("explain", "sprak"), ("show", "/nowhere.toml"), ("explain", "/"), ("show", "spark:mtp")],
)
@pytest.mark.parametrize("json_mode", [False, True])
def test_a_profile_that_is_none(
    capsys: pytest.CaptureFixture[str], command: str, argument: str, json_mode: bool
) -> None:
    said = profiles(capsys, command, argument, *(["--json"] if json_mode else []))
    assert said.code == Exit.USAGE
    assert said.err.startswith("error: ")
    assert "  fix: " in said.err
    assert "Traceback" not in said.err
    assert said.document["exit_code"] == 2 if json_mode else said.out == ""


@pytest.mark.parametrize(
    "argv", [["nonsense"], ["show"], ["show", "spark", "extra"], ["list", "--wrong"], ["diff", "spark"]]
)
def test_a_command_line_that_is_none(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    said = profiles(capsys, *argv)
    assert said.code == Exit.USAGE
    assert said.err.startswith("error: ")


def test_a_schema_does_not_load_what_it_does_not_need() -> None:
    """Start-up stays fast: no NVML, docker, numpy or HTTP for a command that reads a profile."""
    code = (
        "import sys; from moet_boot.cli.main import run; run(['profiles', 'show', 'demo']);"
        "print(sorted({'numpy', 'docker', 'pynvml', 'httpx2', 'torch', 'psutil'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip().endswith("[]")
