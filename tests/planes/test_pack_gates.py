import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.json_file import FileState, JsonFile
from moet_boot.planes.pack_gates import PackFacts, legal_layers, probe, store_open
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.server_version import ServerVersion

V1, V2 = ServerVersion.V1, ServerVersion.V2
TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)


def identity(ckpt_id: str | None = "golden-checkpoint-id") -> PackIdentity:
    return PackIdentity(PackShape.of(TINY, SlotKind.BASE), ckpt_id)


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
