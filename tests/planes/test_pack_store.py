import json

import pytest

from moet_boot.planes.geometry import DS4_FLASH, Geometry, SlotKind
from moet_boot.planes.identity import canonical_json
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.server_version import ServerVersion
from moet_boot.units import GIB
from testing.golden import GOLDEN, golden_json

V1, V2 = ServerVersion.V1, ServerVersion.V2
TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)
IDENTITY = golden_json("vi_identity.json")["v2"]
LAYOUT = golden_json("vi_layout_v2.json")["files"]


def identity(
    geometry: Geometry = TINY, tag: SlotKind = SlotKind.BASE, ckpt_id: str | None = "golden-checkpoint-id"
) -> PackIdentity:
    return PackIdentity(PackShape.of(geometry, tag), ckpt_id)


@pytest.mark.parametrize(
    ("tag", "apparent_gib"),
    [(SlotKind.BASE, 74.25), (SlotKind.DELTA, 132), (SlotKind.FP4, 140.25), (SlotKind.FP4Q, 82.5)],
)
def test_published_sizes_of_the_real_packs(tag: SlotKind, apparent_gib: float) -> None:
    shape = PackShape.of(DS4_FLASH, tag)
    assert shape.file_bytes == apparent_gib * GIB
    assert shape.n_layers == 44
    assert shape.offset(43, 0) == shape.file_bytes - shape.layer_bytes


def test_rows_follow_each_other() -> None:
    shape = PackShape.of(TINY, SlotKind.BASE)
    assert (shape.slot_bytes, shape.stride, shape.n_layers) == (27648, 28672, 3)
    assert shape.offset(1, 3) - shape.offset(1, 2) == shape.stride
    assert shape.file_bytes == 344064


@pytest.mark.parametrize(
    ("geometry", "tag", "key"),
    [
        pytest.param(TINY, SlotKind.BASE, "tiny_base_paths", id="tiny"),
        pytest.param(DS4_FLASH, SlotKind.BASE, "dsv4_base_paths", id="base"),
        pytest.param(DS4_FLASH, SlotKind.DELTA, "dsv4_delta_paths", id="delta"),
        pytest.param(DS4_FLASH, SlotKind.FP4, "dsv4_fp4_paths", id="fp4"),
    ],
)
def test_golden_v2_names(geometry: Geometry, tag: SlotKind, key: str) -> None:
    stem = identity(geometry, tag).stem(V2, "rank0of1")
    assert [f"/S/{stem}.{suffix}" for suffix in ("pack", "json", "lock")] == IDENTITY[key]


def test_the_golden_key_text() -> None:
    fields = json.loads(IDENTITY["pack_key_canonical_json_tiny"])
    assert canonical_json(fields) == IDENTITY["pack_key_canonical_json_tiny"]
    sidecar = json.loads(identity().sidecar_text(V2, [0]))
    assert {key: sidecar[key] for key in fields} == fields


@pytest.mark.parametrize("tag", [SlotKind.BASE, SlotKind.FP4])
def test_golden_v1_sidecars(tag: SlotKind) -> None:
    text = (GOLDEN / f"vi_store_v1/store/{tag}.rank0of1.json").read_text()
    mine = identity(tag=tag, ckpt_id="32e148f173429ae30cfcc670f4307098adcfdd20")
    assert mine.sidecar_text(V1, [0, 1]) == text
    assert mine.stem(V1, "rank0of1") == f"{tag}.rank0of1"


@pytest.mark.parametrize("tag", [SlotKind.BASE, SlotKind.FP4])
def test_golden_v2_sidecars(tag: SlotKind) -> None:
    mine = identity(tag=tag)
    assert LAYOUT[f"store/{mine.stem(V2, 'rank0of1')}.json"]["text"] == mine.sidecar_text(V2, [0, 1])


def test_split_mode_without_a_base_keeps_the_tag_delta() -> None:
    shape = PackShape.of(TINY, SlotKind.DELTA, slots=SlotKind.FP4Q)
    assert (shape.tag, shape.slot_bytes) == ("delta", TINY.bytes_of(SlotKind.FP4Q))
    assert PackShape.of(TINY, SlotKind.BASE, layers=7).n_layers == 8
