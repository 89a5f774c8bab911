import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.geometry import DS4_FLASH, Geometry, SlotKind
from moet_boot.planes.identity import canonical_json
from moet_boot.planes.json_file import FileState, JsonFile
from moet_boot.planes.pack_gates import PackFacts, legal_layers, probe, store_open
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


def facts(server: ServerVersion = V1, size: int | None = 344064, **changes: Any) -> PackFacts:
    sidecar = json.loads(identity().sidecar_text(server, [0, 1])) | changes
    return PackFacts(JsonFile(FileState.FOUND, sidecar), size)


# planes.md d.4: (probe of v1, store of v1, both of v2)
GATES = [
    pytest.param({}, (True, True, True), id="pristine"),
    pytest.param({"version": 9}, (False, False, False), id="version"),
    pytest.param({"E": 5}, (False, False, False), id="E"),
    pytest.param({"slot_bytes": 1}, (False, False, False), id="slot_bytes"),
    pytest.param({"stride": 1}, (False, False, False), id="stride"),
    pytest.param({"n_layers": 4}, (True, False, False), id="n_layers"),
    pytest.param({"ckpt_id": "other"}, (True, False, False), id="ckpt_id"),
    pytest.param({"ckpt_id": None}, (True, False, False), id="ckpt_id null"),
    pytest.param({"tag": "other"}, (True, True, False), id="tag"),
    pytest.param({"zero_mode": "sign"}, (True, True, False), id="zero_mode"),
    pytest.param({"quantizer_abi": "other"}, (True, True, False), id="quantizer_abi"),
    pytest.param({"layers": [0, 1, 9]}, (True, True, False), id="impossible layer"),
    pytest.param({"layers": [0, 1, 0]}, (True, True, False), id="layer twice"),
    pytest.param({"layers": [0, "1"]}, (True, True, False), id="layer as text"),
    pytest.param({"layers": "01"}, (False, False, False), id="layers as text"),
    pytest.param({"layers": None}, (False, False, False), id="no layers"),
    pytest.param({"layers": [1]}, (False, False, False), id="layer not listed"),
    pytest.param({"note": "x"}, (True, True, True), id="unknown key"),
    pytest.param({"E": 4.0, "version": True}, (True, True, False), id="numbers as Python compares them"),
]


@pytest.mark.parametrize(("changes", "expected"), GATES)
def test_what_each_gate_checks(changes: dict[str, Any], expected: tuple[bool, bool, bool]) -> None:
    v1, v2 = facts(V1, **changes), facts(V2, **changes)
    want = identity()
    got = (probe(v1, want, V1).has(0), store_open(v1, want, V1).has(0), probe(v2, want, V2).has(0))
    assert got == expected
    assert store_open(v2, want, V2).has(0) is expected[2]


@pytest.mark.parametrize(
    ("size", "v2"), [(344064, True), (344063, False), (344065, False), (0, False), (None, False)], ids=str
)
def test_only_v2_looks_at_the_size(size: int | None, *, v2: bool) -> None:
    assert probe(facts(V1, size), identity(), V1).has(0)
    assert store_open(facts(V1, size), identity(), V1).has(0)
    assert probe(facts(V2, size), identity(), V2).has(0) is v2


def test_v2_takes_no_pack_without_an_id() -> None:
    gate = probe(facts(V2, ckpt_id=None), identity(ckpt_id=None), V2)
    assert not gate.has(0)
    assert gate.failed == ("ckpt_id",)


@pytest.mark.parametrize("value", [None, [], "text", 7])
@pytest.mark.parametrize("server", ServerVersion)
def test_a_sidecar_that_is_no_object_is_a_miss(value: object, server: ServerVersion) -> None:
    gate = probe(PackFacts(JsonFile(FileState.FOUND, value), 344064), identity(), server)
    assert "sidecar" in gate.failed
    assert not gate.has(0)


@pytest.mark.parametrize(
    ("layers", "legal"),
    [
        ([], True),
        ([0, 2], True),
        ([3], False),
        ([-1], False),
        ([True], False),
        ([0, 0], False),
        (None, False),
        ({0}, False),
    ],
)
def test_legal_layers(layers: object, *, legal: bool) -> None:
    assert legal_layers(layers, 3) is legal


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
keys = st.sampled_from(["version", "E", "slot_bytes", "stride", "n_layers", "ckpt_id", "layers", "tag"])


@given(changes=st.dictionaries(keys, json_values), layer=st.integers(-1, 5))
def test_any_sidecar_gets_an_answer_and_v2_never_takes_more_than_v1(changes: dict[str, Any], layer: int) -> None:
    want = identity()
    v1 = store_open(facts(V1, **changes), want, V1).has(layer)
    v2 = store_open(facts(V2, **{"version": 2, **changes}), want, V2).has(layer)
    assert probe(facts(V1, **changes), want, V1).has(layer) or not v1
    assert not v2 or layer in changes.get("layers", [0, 1])
