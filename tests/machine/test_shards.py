import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactMissingError
from moet_boot.machine.shards import is_lfs_pointer, read_shard
from tests.machine.safetensors_files import LFS_POINTER, shard_bytes

WHOLE = shard_bytes()
FEW = settings(max_examples=40, deadline=None)  # each writes a file and reads it past the page cache


def problem_of(folder: Path, content: bytes, name: str = "model.safetensors") -> str | None:
    (folder / name).write_bytes(content)
    shard, problem = read_shard(folder / name)
    assert (shard.name, shard.size) == (name, len(content))
    return problem


def test_a_whole_shard(tmp_path: Path) -> None:
    assert problem_of(tmp_path, WHOLE) is None


def test_a_shard_with_a_header_longer_than_the_first_read(tmp_path: Path) -> None:
    assert problem_of(tmp_path, shard_bytes(tensors=200, each=8)) is None


def test_a_shard_without_tensors(tmp_path: Path) -> None:
    assert problem_of(tmp_path, (2).to_bytes(8, "little") + b"{}") is None


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(WHOLE[:-1], f"truncated: {len(WHOLE) - 1} bytes, expected {len(WHOLE)}", id="one-byte-short"),
        pytest.param(WHOLE + b"x", "longer than its header says", id="one-byte-more"),
        pytest.param(WHOLE[:40], "truncated inside its header: 40 bytes", id="header-cut"),
        pytest.param(b"", "no safetensors file", id="empty"),
        pytest.param(b"1234567", "no safetensors file", id="shorter-than-a-length"),
        pytest.param(b"\0" * 4096, "no JSON", id="zeros"),
        pytest.param((200_000_000).to_bytes(8, "little") + b"{", "no safetensors file", id="absurd-length"),
        pytest.param((9).to_bytes(8, "little") + b"not json!", "no JSON", id="not-json"),
        pytest.param((4).to_bytes(8, "little") + b"[{}]", "no JSON object", id="not-a-table"),
        pytest.param(b"<!DOCTYPE html><html>", "no safetensors file", id="an-error-page"),
    ],
)
def test_a_damaged_shard(tmp_path: Path, content: bytes, named: str) -> None:
    problem = problem_of(tmp_path, content)
    assert problem is not None
    assert named in problem
    assert problem.startswith("model.safetensors ")


def test_a_git_lfs_pointer(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_text(LFS_POINTER)
    shard, problem = read_shard(tmp_path / "m.safetensors")
    assert shard.lfs_pointer
    assert is_lfs_pointer(tmp_path / "m.safetensors")
    assert problem is not None
    assert f"Git LFS pointer of {len(LFS_POINTER)} bytes" in problem


def test_a_file_of_another_kind_has_no_header_to_check(tmp_path: Path) -> None:
    assert problem_of(tmp_path, b"anything", name="pytorch_model.bin") is None


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.safetensors")
    _, problem = read_shard(tmp_path / "m.safetensors")
    assert problem == "m.safetensors is a FIFO, expected a regular file"


def test_a_missing_shard_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError):
        read_shard(tmp_path / "absent.safetensors")


@FEW
@given(tensors=st.integers(0, 6), each=st.integers(1, 300))
def test_any_whole_shard_is_whole(tmp_path_factory: pytest.TempPathFactory, tensors: int, each: int) -> None:
    assert problem_of(tmp_path_factory.getbasetemp(), shard_bytes(tensors, each)) is None


@FEW
@given(content=st.binary(max_size=80))
def test_any_other_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    assert problem_of(tmp_path_factory.getbasetemp(), content) is not None


@FEW
@given(cut=st.integers(0, len(WHOLE) - 1))
def test_no_cut_goes_unseen(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    assert problem_of(tmp_path_factory.getbasetemp(), WHOLE[:cut]) is not None
