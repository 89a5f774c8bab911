import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.planes.checkpoint import Checkpoint, read_identity, tensor_names
from moet_boot.planes.geometry import Geometry
from testing.checkpoints import INDEX, SHARD, copy_checkpoint, edit_json, edit_shard, write_checkpoint
from testing.golden import GOLDEN, golden_json
from testing.plane_file import TINY

NAME = "layers.0.ffn.experts.1.w1.weight"
LAST = "model-00003-of-00003.safetensors"
SCALE = "layers.0.ffn.experts.1.w2.scale"


def open_and_close(folder: Path) -> Checkpoint:
    with Checkpoint(folder) as checkpoint:
        return checkpoint


@dataclass(frozen=True)
class Case:
    name: str
    damage: Callable[[Path], object]
    message: str
    error: type[MoetBootError] = ArtefactDamagedError


def drop_tensor(folder: Path) -> None:
    edit_json(folder / INDEX, lambda index: index["weight_map"].pop(NAME))


def drop_layer(folder: Path) -> None:
    edit_json(folder / "config.json", lambda config: config.update(num_hidden_layers=3))


def extra_layer(folder: Path) -> None:
    edit_json(folder / "config.json", lambda config: config.update(num_hidden_layers=1))


def extra_expert(folder: Path) -> None:
    edit_json(folder / INDEX, lambda index: index["weight_map"].update({NAME.replace("1.w1", "4.w1"): SHARD}))


def leading_zero(folder: Path) -> None:
    edit_json(folder / INDEX, lambda index: index["weight_map"].update({NAME.replace("layers.0", "layers.00"): SHARD}))


def lie_about_shard(folder: Path) -> None:
    edit_json(folder / INDEX, lambda index: index["weight_map"].update({NAME: SHARD.replace("00001", "00002")}))


def hidden_extra(folder: Path) -> None:
    def move(header: dict[str, object]) -> None:
        header[NAME.replace("1.w1", "9.w1")] = header.pop("layers.0.ffn.shared_experts.w1.scale")

    edit_shard(folder / SHARD, move)


def move_a_border(folder: Path) -> None:
    def move(header: dict[str, Any]) -> None:
        offsets = header[NAME]["data_offsets"]
        after = next(entry for entry in header.values() if entry.get("data_offsets", [0])[0] == offsets[1])
        offsets[1] -= 1
        after["data_offsets"][0] -= 1

    edit_shard(folder / SHARD, move)


def two_in_one_place(folder: Path) -> None:
    def move(header: dict[str, Any]) -> None:
        header[NAME]["data_offsets"] = header[NAME.replace("1.w1", "2.w1")]["data_offsets"]

    edit_shard(folder / SHARD, move)


def set_tensor(name: str, **changes: object) -> Callable[[Path], object]:
    return lambda folder: edit_shard(folder / SHARD, lambda header: header[name].update(changes))


def pointer(folder: Path) -> None:
    (folder / SHARD).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n")


def set_index(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / INDEX).write_text(text)


def set_config(**changes: object) -> Callable[[Path], object]:
    return lambda folder: edit_json(folder / "config.json", lambda config: config.update(changes))


def make_fifo(folder: Path) -> None:
    (folder / SHARD).unlink()
    os.mkfifo(folder / SHARD)


CASES = [
    Case("missing tensor", drop_tensor, f"the index lacks {NAME}, config.json promises 2 layers of 4 experts"),
    Case("missing layer", drop_layer, "the index lacks 24 expert tensors, among them layers.2.ffn.experts.0.w1.scale"),
    Case("extra layer", extra_layer, "the index has 24 expert tensors, among them layers.1.ffn.experts.0.w1.scale"),
    Case("extra expert", extra_expert, r"the index has layers.0.ffn.experts.4.w1.weight beyond the 2 layers"),
    Case("odd name", leading_zero, r"the index has layers.00.ffn"),
    Case("lying index", lie_about_shard, f"lacks {NAME}, the index says that they are in it|holds {NAME}, the index"),
    Case("tensor the index does not know", hidden_extra, "experts.9.w1.weight, the index says that they are elsewhere"),
    Case("missing shard", lambda f: (f / SHARD).unlink(), "does not exist", ArtefactMissingError),
    Case("truncated shard", lambda f: os.truncate(f / SHARD, 200_000), "is truncated: 200000 bytes"),
    Case("LFS pointer", pointer, "is a Git LFS pointer"),
    Case("FIFO", make_fifo, "is a FIFO"),
    Case("wrong type", set_tensor(NAME, dtype="BF16"), f"{NAME} in .* has type BF16, expected I8 or U8"),
    Case("wrong scale type", set_tensor(SCALE, dtype="F32"), "has type F32, expected F8_E8M0 or U8"),
    Case("wrong shape", set_tensor(NAME, shape=[64, 256]), r"has shape \[64, 256\] in 16384 bytes, expected \[128, 128\]"),
    Case("transposed", set_tensor(SCALE, shape=[4, 256]), r"has shape \[4, 256\] in 1024 bytes, expected \[256, 4\]"),
    Case("wrong size", move_a_border, r"in (16383|1025) bytes, expected"),
    Case("no config", lambda f: (f / "config.json").unlink(), "config.json does not exist", ArtefactMissingError),
    Case("no index", lambda f: (f / INDEX).unlink(), "index.json does not exist", ArtefactMissingError),
    Case("config not JSON", lambda f: (f / "config.json").write_text("{"), "config.json is no JSON"),
    Case("config a list", lambda f: (f / "config.json").write_text("[]"), "config.json is no JSON object"),
    Case("index not JSON", set_index("nope"), "index.json is no JSON"),
    Case("index without map", set_index("{}"), "has no weight_map"),
    Case("index with a list", set_index('{"weight_map": []}'), "has no weight_map"),
    Case("path for a shard", set_index(json.dumps({"weight_map": {NAME: "../x"}})), "impossible shard .* '../x'"),
    Case("NUL in a shard", set_index(json.dumps({"weight_map": {NAME: "a\0b"}})), "impossible shard"),
    Case("no text for a shard", set_index('{"weight_map": {"norm.weight": "\\ud800"}}'), "impossible shard"),
    Case("odd shard of the rest", set_index('{"weight_map": {"norm.weight": 7}}'), "impossible shard .* 7"),
    Case("missing shard of the rest", lambda f: (f / LAST).unlink(), "does not exist", ArtefactMissingError),
    Case("truncated shard of the rest", lambda f: os.truncate(f / LAST, 100_000), "is truncated: 100000 bytes"),
    Case("absurd config", set_config(num_hidden_layers=1 << 24, n_routed_experts=1 << 24), "more than any model has"),
    Case("tensors in one place", two_in_one_place, "tensors overlap"),
    Case("number for a shard", set_index(json.dumps({"weight_map": {NAME: 7}})), "impossible shard .* 7"),
    Case("other experts", set_config(expert_dtype="fp8"), "expert_dtype 'fp8'"),
    Case("other geometry", set_config(hidden_size=512), r"has shape \[.*\] in", ArtefactDamagedError),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.timeout(30)
def test_a_checkpoint_that_is_not_whole_is_one_clear_error(case: Case, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    case.damage(folder)
    with pytest.raises(case.error, match=case.message) as caught:
        open_and_close(folder)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("name", "message"), [("missing", "does not exist"), ("config.json", "is no folder")], ids=["missing", "file"]
)
def test_a_folder_that_is_none_is_missing(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError, match=message):
        Checkpoint(copy_checkpoint(tmp_path) / name)


def test_a_json_file_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    os.truncate(folder / INDEX, 1 << 40)
    with pytest.raises(ArtefactDamagedError, match="1099511627776 bytes"):
        Checkpoint(folder)


def test_the_golden_checkpoint_is_found_tensor_by_tensor() -> None:
    with Checkpoint(GOLDEN / "iv_ckpt") as checkpoint:
        assert checkpoint.geometry == TINY
        assert checkpoint.expert(0).w1.shard.path.name == SHARD
        assert checkpoint.expert(5).w2_scale.size == 1024
        assert checkpoint.expert(7).w3.size == 16_384
    expected = golden_json("iv_expected.json")["files"][INDEX]
    assert read_identity(GOLDEN / "iv_ckpt").index_sha256.hex() == expected


def test_u8_is_as_good_as_the_real_types(tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    set_tensor(NAME, dtype="U8")(folder)
    set_tensor(SCALE, dtype="U8")(folder)
    assert open_and_close(folder).geometry == TINY


def test_shared_and_mtp_experts_and_the_rest_are_ignored(tmp_path: Path) -> None:
    names = golden_json(f"iv_ckpt/{INDEX}")["weight_map"]
    assert any(name.startswith("mtp.0.ffn.experts.") for name in names)
    with Checkpoint(GOLDEN / "iv_ckpt") as checkpoint:
        shards = {checkpoint.expert(slot).w1.shard.path.name for slot in range(8)}
    assert len(shards) == 2


def test_the_order_of_names_is_that_of_the_spans() -> None:
    assert [name.split(".", 5)[5] for name in tensor_names(3, 4)] == [
        "w1.weight", "w3.weight", "w2.weight", "w1.scale", "w3.scale", "w2.scale",
    ]  # fmt: skip
    assert next(tensor_names(3, 4)).startswith("layers.3.ffn.experts.4.")


def fingerprint(folder: Path) -> bytes:
    with Checkpoint(folder) as checkpoint:
        return checkpoint.fingerprint


def test_the_fingerprint_changes_with_any_shard(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a", Geometry(2, 1, 64, 64), seed=1)
    first = fingerprint(tmp_path / "a")
    assert fingerprint(tmp_path / "a") == first
    os.utime(tmp_path / "a" / "layer-1.safetensors", ns=(1, 1))
    assert fingerprint(tmp_path / "a") != first


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_files_are_closed_again(tmp_path: Path) -> None:
    before = open_files()
    folder = copy_checkpoint(tmp_path)
    open_and_close(folder)
    drop_tensor(folder)
    with pytest.raises(ArtefactDamagedError):
        open_and_close(folder)
    set_tensor(NAME, dtype="BF16")(copy := copy_checkpoint(tmp_path / "b"))
    with pytest.raises(ArtefactDamagedError):
        open_and_close(copy)
    assert open_files() == before


def test_the_generator_of_these_tests_writes_what_safetensors_reads(tmp_path: Path) -> None:
    from safetensors import safe_open

    (expert,) = write_checkpoint(tmp_path / "a", Geometry(1, 1, 64, 64), seed=1)
    with safe_open(tmp_path / "a" / "layer-0.safetensors", framework="np") as file:
        stored = file.get_tensor("layers.0.ffn.experts.0.w1.weight")
    assert hashlib.sha256(stored.tobytes()).digest() == hashlib.sha256(expert.w1.tobytes()).digest()
