"""README and CONTRIBUTING promise nothing that is not there: commands, options, profiles, files, anchors."""

import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import typer

from moet_boot.cli.main import COMMANDS
from moet_boot.profile.config_file import Config, read_config
from moet_boot.profile.files import shipped_names
from moet_boot.profile.load import load_profile
from moet_boot.profile.overrides import apply_overrides

ROOT = Path(__file__).parents[1]
GUIDES = ("README.md", "CONTRIBUTING.md")
OWN_FOLDERS = ("scripts/", "tests/", "testing/", "profiles/", "dockerfiles/", "moet_boot/")


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


def shell_lines(guide: str) -> list[str]:
    """The lines of every bash and yaml block, continued ones joined, comments and prompts gone."""
    blocks = re.findall(r"```(?:bash|yaml|text)\n(.*?)```", text_of(guide), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.strip().removeprefix("$ ") for line in lines]


def moet_boot_commands() -> list[list[str]]:
    """Every `moet-boot ...` of both guides as words, in blocks and in running text."""
    said = [line for guide in GUIDES for line in shell_lines(guide)]
    said = [line.removeprefix("sudo ") for line in said]
    said += [code for guide in GUIDES for code in re.findall(r"`(moet-boot [^`]+)`", text_of(guide))]
    return [shlex.split(line, comments=True) for line in said if line.startswith("moet-boot ")]


@cache
def options_of(*words: str) -> frozenset[str]:
    """The options of a command, `--profile` and `-o` alike."""
    module = COMMANDS[words[0]]
    below = getattr(import_module(module), "COMMANDS", {})
    command = typer.main.get_command(import_module(below[words[1]] if below else module).app)
    return frozenset(opt for param in command.params for opt in (*param.opts, *param.secondary_opts)) | {"--help"}


@pytest.mark.parametrize("command", moet_boot_commands(), ids=" ".join)
def test_a_command_of_the_guides_exists_with_its_options(command: list[str]) -> None:
    words = [word.rstrip(",") for word in command[1:]]
    assert words[0] in COMMANDS
    below = getattr(import_module(COMMANDS[words[0]]), "COMMANDS", None)
    name = words[:2] if below else words[:1]
    assert below is None or name[1] in below
    used = [word.strip("[].") for word in words if word.startswith(("-", "[-")) and word != "--"]
    assert set(used) <= options_of(*name), name


def test_the_guides_name_enough_commands() -> None:
    assert len(moet_boot_commands()) > 30


def test_profiles_of_the_guides_are_shipped() -> None:
    named = {name for command in moet_boot_commands() for name in re.findall(r"--profile (\S+)", " ".join(command))}
    assert named - {"NAME", "$profile"} <= set(shipped_names())
    assert set(shipped_names()) <= named | {"rtx6000-b", "demo"}


def test_the_config_file_of_the_readme_is_one(tmp_path: Path) -> None:
    block = re.findall(r"```toml\n(.*?)```", text_of("README.md"), re.DOTALL)
    assert len(block) == 1
    file = tmp_path / "config.toml"
    file.write_text(block[0], encoding="utf-8")
    config = Config(((file, read_config(file)),))
    profile = apply_overrides(load_profile("rtx6000-b"), [], config=config)
    assert profile.flag("--max-num-seqs") == 128
    assert profile.artefacts["checkpoint"].path == "/data/DeepSeek-V4-Flash"


@pytest.mark.parametrize("guide", GUIDES)
def test_files_of_the_guides_exist(guide: str) -> None:
    paths = re.findall(rf"(?<![\w/.~-])((?:{'|'.join(OWN_FOLDERS)})[\w./-]*)", text_of(guide))
    missing = {path for path in paths if not (ROOT / path.rstrip(".")).exists()}
    assert {path for path in missing if "NAME" not in path} == set()
    assert len(paths) > 3


@pytest.mark.parametrize("guide", GUIDES)
def test_links_of_the_guides_lead_somewhere(guide: str) -> None:
    text = text_of(guide)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target.removeprefix("#") in anchors if target.startswith("#") else (ROOT / target).exists(), target
