import os
from pathlib import Path

import pytest

from moet_boot import places
from moet_boot.errors import MoetBootError


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOET_BOOT_STATE_DIR", "MOET_BOOT_RUNTIME_DIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nothing_set")
def test_root_uses_the_systems_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert places.state_dir() == Path("/var/lib/moet-boot")
    assert places.runtime_dir() == Path("/run/moet-boot")


@pytest.mark.usefixtures("nothing_set")
def test_a_user_has_folders_of_their_own_and_no_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert places.state_dir() == tmp_path / "moet-boot"
    assert places.runtime_dir().name == "moet-boot"


def test_a_variable_moves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOET_BOOT_STATE_DIR", "~/elsewhere")
    assert places.state_dir() == Path.home() / "elsewhere"


def test_config_files_from_the_strongest_to_the_weakest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOET_BOOT_CONFIG", "/given.toml")
    files = places.config_files()
    assert files[0] == Path("/given.toml")
    assert files[-1] == Path("/etc/moet-boot/config.toml")


def test_a_folder_is_made_once_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert places.made(folder) == places.made(folder) == folder
    assert folder.is_dir()


@pytest.mark.parametrize("folder", ["/proc/moet-boot", "file/below"], ids=["not allowed", "below a file"])
def test_a_folder_that_cannot_be_made_names_the_variable(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MoetBootError, match="cannot create") as error:
        places.made(tmp_path / folder)
    assert "MOET_BOOT_STATE_DIR" in error.value.fix


def no_temp() -> str:
    raise FileNotFoundError(2, "No usable temporary directory found")


def test_without_a_writable_temporary_folder_there_is_one_for_us_and_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", "/read-only")
    monkeypatch.setenv("MOET_BOOT_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.gettempdir", no_temp)
    places.use_writable_temp()
    assert os.environ["TMPDIR"] == str(tmp_path / "tmp")
    assert (tmp_path / "tmp").is_dir()


def test_nowhere_to_write_is_a_known_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/read-only")
    monkeypatch.setenv("MOET_BOOT_RUNTIME_DIR", "/proc/nowhere")
    monkeypatch.setattr("tempfile.gettempdir", no_temp)
    with pytest.raises(MoetBootError, match="cannot create /proc/nowhere"):
        places.use_writable_temp()


def test_a_writable_temporary_folder_stays_the_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    places.use_writable_temp()
    assert os.environ["TMPDIR"] == str(tmp_path)
