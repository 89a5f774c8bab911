from pathlib import Path

import pytest

from moet_boot.machine.engine_command import installed_version, read_engine


def program(folder: Path, version: str | None = "0.32.0+cpu") -> Path:
    """A virtual environment with an executable `vllm`, and its metadata as pip leaves it."""
    file = folder / "bin" / "vllm"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\necho this must never run >&2; exit 99\n")
    file.chmod(0o755)
    packages = folder / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    if version is not None:
        info = packages / f"vllm-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    return file


def test_a_program_by_its_path(tmp_path: Path) -> None:
    file = program(tmp_path)
    facts = read_engine([str(file), "serve"])
    assert (facts.command, facts.path, facts.executable) == (str(file), str(file), True)
    assert (facts.version, facts.error) == ("0.32.0+cpu", None)


def test_a_program_on_the_path(tmp_path: Path) -> None:
    file = program(tmp_path)
    facts = read_engine(["vllm"], search_path=str(file.parent))
    assert (facts.path, facts.version) == (str(file), "0.32.0+cpu")


def test_a_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = program(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_engine(["~/bin/vllm"]).path == str(file)


def test_a_link_to_a_program_belongs_to_the_environment_where_it_lies(tmp_path: Path) -> None:
    real, other = program(tmp_path / "real", "1.0"), program(tmp_path / "other", "2.0")
    other.unlink()
    other.symlink_to(real)
    assert installed_version(other) == "2.0"


@pytest.mark.parametrize("version", [None])
def test_an_environment_that_does_not_say_which_version(tmp_path: Path, version: str | None) -> None:
    facts = read_engine([str(program(tmp_path, version))])
    assert (facts.executable, facts.version) == (True, None)


def test_a_program_outside_of_any_environment(tmp_path: Path) -> None:
    file = tmp_path / "vllm"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    assert read_engine([str(file)]).version is None


def test_no_such_program_on_the_path(tmp_path: Path) -> None:
    facts = read_engine(["vllm"], search_path=str(tmp_path))
    assert (facts.path, facts.executable, facts.error) == (None, False, "no program vllm on the PATH")


def test_no_such_file(tmp_path: Path) -> None:
    facts = read_engine([str(tmp_path / "vllm")])
    assert (facts.path, facts.executable) == (None, False)
    assert facts.error == f"no such file: {tmp_path}/vllm"


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "vllm").touch()
    facts = read_engine([str(tmp_path / "vllm")])
    assert (facts.path, facts.executable) == (str(tmp_path / "vllm"), False)
    assert "not executable" in (facts.error or "")


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in (read_engine([str(tmp_path)]).error or "")
