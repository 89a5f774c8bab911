import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.identity import canonical_json
from moet_boot.planes.json_file import FileState, JsonFile
from moet_boot.planes.planes_cache import (
    CacheFacts,
    CacheIdentity,
    cache_hit,
    missing_parts,
    parse_part_name,
    part_name,
    part_sections,
    part_sizes,
)
from moet_boot.planes.server_version import ServerVersion
from moet_boot.units import GIB
from testing.golden import GOLDEN, golden_json

V1, V2 = ServerVersion.V1, ServerVersion.V2
TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)
GOLDEN_V2 = golden_json("vi_identity.json")["v2"]


def test_golden_meta_of_v1() -> None:
    mine = CacheIdentity("32e148f173429ae30cfcc670f4307098adcfdd20")
    assert mine.meta_text(V1) == (GOLDEN / "vi_store_v1/planes/tp1-rank0/meta.json").read_text()
    assert mine.folder(V1) == "tp1-rank0"


def test_golden_meta_of_v2() -> None:
    mine = CacheIdentity("golden-checkpoint-id")
    layout = golden_json("vi_layout_v2.json")["files"]
    assert canonical_json(mine.meta(V2)) == GOLDEN_V2["planes_meta_canonical_json"]
    assert f"/P/{mine.folder(V2)}" == GOLDEN_V2["planes_rank_dir"]
    assert layout[f"planes/{mine.folder(V2)}/meta.json"]["text"] == mine.meta_text(V2)


@pytest.mark.parametrize(
    ("fp4", "layer_gib"), [pytest.param(False, 1.6875, id="2-bit"), pytest.param(True, 4.6875, id="with FP4 parts")]
)
def test_published_sizes_of_a_real_layer(*, fp4: bool, layer_gib: float) -> None:
    assert sum(part_sizes(DS4_FLASH, fp4=fp4).values()) == layer_gib * GIB


def test_exact_part_sizes() -> None:
    assert part_sizes(DS4_FLASH, fp4=True) == {
        "planes13": 1_073_741_824,
        "sc13": 134_217_728,
        "planes2": 536_870_912,
        "sc2": 67_108_864,
        "fp13": 2_147_483_648,
        "fp2": 1_073_741_824,
    }
    split = part_sizes(DS4_FLASH, fp4=True, split=True)
    assert (split["fp13"], split["fp2"]) == (2_147_483_648 * 5 // 8, 1_073_741_824 * 5 // 8)


@pytest.mark.parametrize(
    ("fp4", "split", "parts"),
    [
        (False, False, {"planes13", "sc13", "planes2", "sc2"}),
        (False, True, {"planes13", "sc13", "planes2", "sc2"}),
        (True, False, {"planes13", "sc13", "planes2", "sc2", "fp13", "fp2"}),
    ],
)
def test_needed_parts(*, fp4: bool, split: bool, parts: set[str]) -> None:
    assert set(part_sections(fp4=fp4, split=split)) == parts
    assert part_sections(fp4=True, split=True)["fp13"] == "q13"


def whole(parts: dict[str, int] | None = None, meta: object = None) -> CacheFacts:
    sizes = part_sizes(TINY, fp4=True)
    given_parts = {part_name(layer, part): size for layer in range(2) for part, size in sizes.items()}
    value = CacheIdentity("id").meta(V1) if meta is None else meta
    return CacheFacts(JsonFile(FileState.FOUND, value), given_parts if parts is None else parts)


def hit(facts: CacheFacts, layer: int = 0, *, fp4: bool = False) -> bool:
    return cache_hit(facts, layer, CacheIdentity("id").meta(V1), part_sizes(TINY, fp4=fp4))


def test_a_whole_cache_hits() -> None:
    assert hit(whole(), 0)
    assert hit(whole(), 1, fp4=True)
    assert not hit(whole(), 2)


@pytest.mark.parametrize("part", ["planes13", "sc13", "planes2", "sc2"])
@pytest.mark.parametrize("change", [-1, 1, None], ids=["short", "long", "missing"])
def test_one_part_of_another_size_is_a_miss_for_its_layer_only(part: str, change: int | None) -> None:
    parts = dict(whole().parts)
    name = part_name(1, part)
    if change is None:
        del parts[name]
    else:
        parts[name] += change
    assert not hit(whole(parts), 1)
    assert hit(whole(parts), 0)
    assert missing_parts(whole(parts), 1, part_sizes(TINY, fp4=False)) == (part,)


def test_fp4_parts_matter_only_when_they_are_needed() -> None:
    parts = {name: size for name, size in whole().parts.items() if ".fp" not in name}
    assert hit(whole(parts))
    assert not hit(whole(parts), fp4=True)


@pytest.mark.parametrize(
    "change",
    [
        {"note": "x"},
        {"world": 2},
        {"rank": 1},
        {"zero_mode": "sign"},
        {"fp4_split": True},
        {"ckpt_id": None},
        {"version": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_meta_must_be_equal_key_for_key(change: dict[str, object]) -> None:
    meta = CacheIdentity("id").meta(V1)
    assert not hit(whole(meta=meta | change))
    shorter = {key: value for key, value in meta.items() if key not in change}
    assert "note" in change or not hit(whole(meta=shorter))


def test_the_order_of_meta_does_not_matter() -> None:
    meta = CacheIdentity("id").meta(V1)
    assert hit(whole(meta=json.loads(json.dumps(dict(reversed(meta.items()))))))


@pytest.mark.parametrize(
    "identity", [{"rank": 1, "world": 2}, {"zero_mode": "sign"}, {"split": True}, {"ckpt_id": "other"}]
)
def test_everything_in_a_v2_identity_moves_its_folder(identity: dict[str, object]) -> None:
    plain = CacheIdentity("id")
    other = CacheIdentity(**{**vars(plain), **identity})
    assert other.folder(V2) != plain.folder(V2)
    assert other.meta(V1) != plain.meta(V1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("layer0.planes13.bin", (0, "planes13")),
        ("layer42.fp2.bin", (42, "fp2")),
        ("layer1.sc2.bin.tmp", None),
        ("layer.sc2.bin", None),
        ("layer1.codes13.bin", None),
        ("meta.json", None),
    ],
)
def test_part_names(name: str, expected: tuple[int, str] | None) -> None:
    assert parse_part_name(name) == expected


@given(layer=st.integers(0, 500), part=st.sampled_from(["planes13", "sc13", "planes2", "sc2", "fp13", "fp2"]))
def test_part_names_round_trip(layer: int, part: str) -> None:
    assert parse_part_name(part_name(layer, part)) == (layer, part)


@given(st.text(max_size=30))
def test_any_file_name_gets_an_answer(name: str) -> None:
    found = parse_part_name(name)
    assert found is None or found[0] >= 0
