"""What can be started, and whether its port is free."""

from pathlib import Path

import pytest

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.launch.command import Command, find_program, port_is_free
from tests.scripted_engine import start as scripted


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "vllm"
    path.parent.mkdir()
    path.touch(0o755)
    return path


def test_by_absolute_path(program: Path) -> None:
    assert find_program([str(program), "serve"], {}) == str(program)


def test_by_path_from_the_folder_of_the_plan(program: Path) -> None:
    assert find_program(["bin/vllm"], {}, program.parent.parent) == str(program)


def test_by_name_on_the_path_of_the_plan(program: Path) -> None:
    assert find_program(["vllm"], {"PATH": str(program.parent)}) == str(program)


def test_by_name_on_our_path() -> None:
    assert find_program(["sh"], {}).endswith("/sh")


@pytest.mark.parametrize("argv", [[], [""]])
def test_no_command(argv: list[str]) -> None:
    with pytest.raises(MoetBootError, match="no command"):
        find_program(argv, {})


@pytest.mark.parametrize("name", ["vllm-that-nobody-has", "/no/such/vllm"])
def test_missing(name: str) -> None:
    with pytest.raises(ArtefactMissingError, match=name):
        find_program([name], {})


def test_not_executable(program: Path) -> None:
    program.chmod(0o644)
    with pytest.raises(MoetBootError, match="not executable") as caught:
        find_program([str(program)], {})
    assert str(program) in caught.value.fix


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", ""])
def test_port(host: str) -> None:
    with scripted.listener(0) as other:
        taken = int(other.getsockname()[1])
        assert not port_is_free(Command(("x",), host=host, port=taken))
    assert port_is_free(Command(("x",), host=host, port=taken))


def test_no_port_is_always_free() -> None:
    assert port_is_free(Command(("x",)))


def test_an_address_of_another_machine_is_not_ours() -> None:
    assert not port_is_free(Command(("x",), host="192.0.2.1", port=scripted.free_port()))
