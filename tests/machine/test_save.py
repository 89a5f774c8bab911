import os
import stat
from pathlib import Path
from typing import NoReturn

import pytest

from moet_boot.errors import UsageError
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.save import save_snapshot
from moet_boot.machine.snapshot import Snapshot

SNAPSHOT = Snapshot(schema_="moet-boot/snapshot/v1", arch="x86_64")


def test_a_file_that_can_be_loaded(tmp_path: Path) -> None:
    assert load_snapshot(save_snapshot(SNAPSHOT, tmp_path / "s.json")) == SNAPSHOT
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o644


def test_an_older_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("old")
    save_snapshot(SNAPSHOT, tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    assert load_snapshot(tmp_path / "s.json").arch == "x86_64"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real.json")
    save_snapshot(SNAPSHOT, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load_snapshot(tmp_path / "real.json").arch == "x86_64"


def test_a_long_name(tmp_path: Path) -> None:
    save_snapshot(SNAPSHOT, tmp_path / ("n" * 250 + ".json"))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["absent/s.json", "", "x" * 300, "a\0b", "file/below"])
def test_a_place_that_takes_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        save_snapshot(SNAPSHOT, f"{tmp_path}/{name}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full", "/dev/stdout"])
def test_a_device_is_never_replaced(device: str) -> None:
    kind = stat.S_IFMT(Path(device).stat().st_mode)
    if stat.S_ISREG(kind):
        return
    with pytest.raises(UsageError, match="no regular file"):
        save_snapshot(SNAPSHOT, device)
    assert stat.S_IFMT(Path(device).stat().st_mode) == kind


def test_a_disk_that_is_full_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    (tmp_path / "s.json").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        save_snapshot(SNAPSHOT, tmp_path / "s.json")
    assert (tmp_path / "s.json").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
