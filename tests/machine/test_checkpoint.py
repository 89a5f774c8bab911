import json
import os
from pathlib import Path
from typing import Any

import pytest

from moet_boot.machine.checkpoint import INDEX, read_checkpoint
from tests.machine.safetensors_files import LFS_POINTER, REVISION, shard_bytes, write_checkpoint

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "iv_ckpt"
FIRST = "model-00001-of-00003.safetensors"


def test_a_whole_checkpoint(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(str(write_checkpoint(tmp_path / "m")))
    assert (checkpoint.exists, checkpoint.config_ok) == (True, True)
    assert (checkpoint.index_declares, checkpoint.shards_present, checkpoint.lfs_pointers) == (3, 3, 0)
    assert checkpoint.total_bytes == 3 * len(shard_bytes())
    assert (checkpoint.missing, checkpoint.problems, checkpoint.incomplete_blobs) == ([], [], 0)
    assert checkpoint.shards is not None
    assert checkpoint.shards[0].name == FIRST


def test_shards_written_by_the_safetensors_library_are_whole() -> None:
    checkpoint = read_checkpoint(str(GOLDEN))
    assert (checkpoint.index_declares, checkpoint.problems) == (3, [])


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(str(tmp_path / "absent"))
    assert (checkpoint.exists, checkpoint.path) == (False, str(tmp_path / "absent"))


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "m").touch()
    assert "is a file" in read_checkpoint(str(tmp_path / "m")).problems[0]


def test_a_missing_shard(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / FIRST).unlink()
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.shards_present, checkpoint.missing) == (2, [FIRST])


def test_a_link_that_leads_nowhere_is_a_missing_shard(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / FIRST).unlink()
    (folder / FIRST).symlink_to("../blobs/abc")
    assert read_checkpoint(str(folder)).missing == [FIRST]


def test_a_truncated_shard(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    with (folder / FIRST).open("r+b") as stream:
        stream.truncate(100)
    (problem,) = read_checkpoint(str(folder)).problems
    assert FIRST in problem
    assert "truncated" in problem


def test_pointers_instead_of_shards(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    for shard in folder.glob("*.safetensors"):
        shard.write_text(LFS_POINTER)
    (folder / "tokenizer.json").write_text(LFS_POINTER)
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.lfs_pointers, checkpoint.shards_present) == (3, 3)
    assert checkpoint.total_bytes == 3 * len(LFS_POINTER)
    assert "tokenizer.json is a Git LFS pointer" in checkpoint.problems


@pytest.mark.parametrize(
    ("index", "named"),
    [
        pytest.param("{", "not the JSON", id="not-json"),
        pytest.param("[]", "not the JSON", id="a-list"),
        pytest.param("{}", "not the JSON", id="no-map"),
        pytest.param('{"weight_map": 5}', "not the JSON", id="a-number-for-the-map"),
        pytest.param('{"weight_map": {"a": ["x"]}}', "not the JSON", id="a-list-for-a-name"),
        pytest.param("[" * 5000, "not the JSON", id="nested-too-deeply"),
        pytest.param(LFS_POINTER, "Git LFS pointer", id="pointer"),
    ],
)
def test_a_damaged_index(tmp_path: Path, index: str, named: str) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / INDEX).write_text(index)
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.index_declares is None
    assert any(INDEX in problem and named in problem for problem in checkpoint.problems)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", ""])
def test_an_index_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": name, "b": FIRST}}))
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.index_declares == 1


def test_an_index_that_is_a_fifo_does_not_hang(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / INDEX).unlink()
    os.mkfifo(folder / INDEX)
    assert any("no such file" in problem for problem in read_checkpoint(str(folder)).problems)


def test_a_single_file(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(shard_bytes())
    (folder / "config.json").write_text('{"architectures": ["X"]}')
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.index_declares, checkpoint.shards_present, checkpoint.problems) == (1, 1, [])


def test_shards_without_an_index(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / INDEX).unlink()
    checkpoint = read_checkpoint(str(folder))
    assert f"it has no {INDEX}" in checkpoint.problems
    assert checkpoint.shards_present == 3


def test_an_empty_folder(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(str(tmp_path))
    assert (checkpoint.index_declares, checkpoint.shards_present) == (None, 0)
    assert any("neither" in problem for problem in checkpoint.problems)


@pytest.mark.parametrize(
    ("config", "named"),
    [(None, "no such file"), ("{", "not the JSON"), ("[]", "names no model"), ('{"a": 1}', "names no model")],
)
def test_a_config_that_names_no_model(tmp_path: Path, config: str | None, named: str) -> None:
    folder = write_checkpoint(tmp_path / "m")
    (folder / "config.json").unlink()
    if config is not None:
        (folder / "config.json").write_text(config)
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.config_ok is False
    assert any("config.json" in problem and named in problem for problem in checkpoint.problems)


def test_the_hubs_cache(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "models--deepseek-ai--DeepSeek-V4-Flash" / "snapshots" / REVISION)
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.repo, checkpoint.revision) == ("deepseek-ai/DeepSeek-V4-Flash", REVISION)


def test_files_of_two_revisions(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    place = folder / ".cache" / "huggingface" / "download"
    place.mkdir(parents=True)
    (place / "a.metadata").write_text(REVISION)
    (place / "b.metadata").write_text("f" * 40)
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.revision is None
    assert any("2 revisions" in problem for problem in checkpoint.problems)


def test_a_shard_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_checkpoint(tmp_path / "m")
    broken, real = (folder / FIRST).stat().st_ino, os.preadv

    def failing(descriptor: int, *rest: Any) -> int:
        if os.fstat(descriptor).st_ino == broken:
            raise OSError(5, "Input/output error")
        return real(descriptor, *rest)

    monkeypatch.setattr(os, "preadv", failing)
    checkpoint = read_checkpoint(str(folder))
    assert f"{FIRST} cannot be read: Input/output error" in checkpoint.problems
    assert (checkpoint.missing, checkpoint.shards_present) == ([], 3)
