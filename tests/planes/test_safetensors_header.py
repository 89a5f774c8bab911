import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.safetensors_header import TensorPlace, read_tensor_places
from testing.checkpoints import SHARD
from testing.golden import GOLDEN


def places(path: Path) -> dict[str, TensorPlace]:
    with DirectReader(path) as reader:
        return read_tensor_places(reader)


def shard(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype: Any = "I8", shape: Any = (2, 3), offsets: Any = (0, 6)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_tensors_of_the_reference_library_are_where_it_put_them(tmp_path: Path) -> None:
    tensors: dict[str, npt.NDArray[Any]] = {
        "a": np.arange(6, dtype=np.int8).reshape(2, 3),
        "b": np.arange(5, dtype=np.float32),
        "c": np.zeros((0, 4), dtype=np.uint8),
    }
    save_file(tensors, tmp_path / "file", metadata={"format": "pt"})
    content = (tmp_path / "file").read_bytes()
    found = places(tmp_path / "file")
    assert found.keys() == tensors.keys()
    for name, place in found.items():
        assert content[place.offset : place.offset + place.size] == tensors[name].tobytes()
        assert place.shape == tensors[name].shape
    assert found["a"].dtype == "I8"


def test_the_golden_shard_has_unaligned_experts() -> None:
    found = places(GOLDEN / "iv_ckpt" / SHARD)
    weight = found["layers.0.ffn.experts.0.w1.weight"]
    assert (weight.dtype, weight.shape, weight.size) == ("I8", (128, 128), 16_384)
    assert weight.offset % 8 != 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no safetensors file: 0 bytes"),
        (b"1234567", "is no safetensors file: 7 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "is a Git LFS pointer"),
        (b"<!DOCTYPE html>", "claims a header of"),
        (shard({"a": entry()}, length=4000), "is truncated inside its header"),
        (shard(b"not json", b"x"), "has a header that is no JSON"),
        (shard(b"\xff\xfe", b"x"), "has a header that is no JSON"),
        (shard(b"[" * 5000, b""), "has a header that is no JSON"),
        (shard([1, 2]), "is no JSON object"),
        (shard(b'{"a": {}, "a": {}}'), "a name occurs twice"),
        (shard({"a": entry()}, b"12345"), "is truncated: "),
        (shard({"a": entry()}, b"1234567"), "is longer than its header says: "),
        (shard({"a": entry(dtype=7)}, b"123456"), "describes a in an impossible way"),
        (shard({"a": entry(shape="2x3")}, b"123456"), "describes a in an impossible way"),
        (shard({"a": entry(shape=(2, "3"))}, b"123456"), "describes a in an impossible way"),
        (shard({"a": entry(offsets=(6, 0))}, b"123456"), "describes a in an impossible way"),
        (shard({"a": entry(offsets=(-6, 0))}, b"123456"), "describes a in an impossible way"),
        (shard({"a": entry(offsets=(0, 3, 6))}, b"123456"), "describes a in an impossible way"),
        (shard({"a": None}), "describes a in an impossible way"),
        (shard({"a": entry(), "b": entry()}, b"123456"), "has b at byte .*: tensors overlap or leave a gap"),
        (shard({"a": entry(), "b": entry(offsets=(5, 11))}, b"12345678901"), "has b at byte .*: tensors overlap"),
        (shard({"a": entry(), "b": entry(offsets=(7, 13))}, b"1234567890123"), "has b at byte .* leave a gap"),
        (shard({"a": entry(offsets=(1, 7))}, b"1234567"), "has a at byte .* leave a gap"),
        (shard(json.dumps({"a": entry()}).encode("utf-16"), b"123456"), "has a header that is no JSON: .*utf-8"),
    ],
    ids=[
        "empty", "seven bytes", "LFS pointer", "web page", "cut in the header", "not JSON", "not UTF-8", "nested",
        "list", "twice", "truncated", "longer", "dtype", "shape text", "shape item", "backwards", "negative",
        "three offsets", "null", "same place", "overlap", "gap", "gap before", "UTF-16",
    ],
)  # fmt: skip
def test_what_is_no_whole_shard_is_one_clear_error(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "shard").write_bytes(content)
    with pytest.raises(ArtefactDamagedError, match=message) as caught:
        places(tmp_path / "shard")
    assert str(tmp_path / "shard") in caught.value.what
    assert caught.value.fix


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_crash_the_reader(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shard").write_bytes(content)
    try:
        found = places(tmp_path / "shard")
    except ArtefactDamagedError:
        return
    assert sum(place.size for place in found.values()) < len(content)


@given(cut=st.integers(1, 211_784))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_a_golden_shard_cut_anywhere_is_noticed(tmp_path: Path, cut: int) -> None:
    (tmp_path / "shard").write_bytes((GOLDEN / "iv_ckpt" / SHARD).read_bytes())
    os.truncate(tmp_path / "shard", cut)
    with pytest.raises(ArtefactDamagedError):
        places(tmp_path / "shard")
