from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.geometry import DS4_FLASH, Geometry, Section, SlotKind, align_up
from testing.golden import golden_json

TINY = Geometry(n_layers=2, n_experts=4, hidden=256, inter=128)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("codes13_bytes", 4_194_304),
        ("sc13_bytes", 524_288),
        ("codes2_bytes", 2_097_152),
        ("sc2_bytes", 262_144),
        ("slot_bytes", 7_077_888),
        ("slot_stride", 7_077_888),
        ("fp13_bytes", 8_388_608),
        ("fp2_bytes", 4_194_304),
        ("q13_bytes", 5_242_880),
        ("q2_bytes", 2_621_440),
        ("n_slots", 11_008),
        ("checkpoint_expert_bytes", 13_369_344),
    ],
)
def test_sizes_of_the_published_model(name: str, size: int) -> None:
    assert getattr(DS4_FLASH, name) == size


def test_the_published_body_and_checkpoint_add_up() -> None:
    assert DS4_FLASH.n_slots * DS4_FLASH.slot_stride == 77_913_391_104
    assert DS4_FLASH.n_slots * DS4_FLASH.checkpoint_expert_bytes == 147_169_738_752


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (SlotKind.BASE, "slot"),
        (SlotKind.DELTA, "slot_delta"),
        (SlotKind.FP4, "slot_fp4"),
        (SlotKind.FP4Q, "slot_fp4q"),
    ],
)
def test_slot_sizes_equal_the_golden_ones(kind: SlotKind, key: str) -> None:
    assert TINY.bytes_of(kind) == golden_json("iv_expected.json")["sections"][key]
    assert DS4_FLASH.bytes_of(kind) == golden_json("v_full_expert.json")["sections"][key]["bytes"]


def test_stride_is_padded_where_the_slot_is_not_aligned() -> None:
    assert (TINY.slot_bytes, TINY.slot_stride) == (27_648, 28_672)
    assert TINY.stride_of(SlotKind.DELTA) == TINY.bytes_of(SlotKind.DELTA) == 49_152


def test_sections_of_the_published_slot() -> None:
    assert DS4_FLASH.sections() == (
        Section("codes13", 0, 4_194_304),
        Section("sc13", 4_194_304, 524_288),
        Section("codes2", 4_718_592, 2_097_152),
        Section("sc2", 6_815_744, 262_144),
    )


def test_config_of_the_golden_checkpoint() -> None:
    assert Geometry.from_config(golden_json("iv_ckpt/config.json")) == TINY
    two_ranks = Geometry.from_config(golden_json("iv_ckpt/config.json"), tp=2)
    assert two_ranks == TINY.with_tp(2)
    assert two_ranks.slot_bytes == golden_json("iv_expected.json")["tp2"][0]["slot_bytes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "hidden_size is None"),
        ({"hidden_size": "4096"}, "hidden_size is '4096'"),
        ({"hidden_size": 4096.0}, "hidden_size is 4096.0"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"n_routed_experts": -4}, "n_routed_experts is -4"),
        ({"moe_intermediate_size": 1 << 60}, "moe_intermediate_size is"),
        ({"num_hidden_layers": 4096, "n_routed_experts": 4096}, "4096 layers of 4096 experts are more than any model"),
        ({"hidden_size": 96}, "hidden size 96 is not a multiple of 64"),
        ({"moe_intermediate_size": 96}, "intermediate size 96 over 1 rank"),
        ({"expert_dtype": "fp8"}, "expert_dtype 'fp8'"),
        ({"expert_dtype": None}, "expert_dtype None"),
        ({"first_k_dense_replace": 3}, "dense layers"),
    ],
)
def test_an_impossible_config_is_one_clear_error(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtefactDamagedError, match=message) as caught:
        Geometry.from_config(golden_json("iv_ckpt/config.json") | change)
    assert caught.value.fix


def test_a_config_without_expert_dtype_means_fp4() -> None:
    config = {key: value for key, value in golden_json("iv_ckpt/config.json").items() if key != "expert_dtype"}
    assert Geometry.from_config(config) == TINY


@pytest.mark.parametrize("tp", [3, 4, 0])
def test_a_split_that_the_layout_cannot_hold_is_refused(tp: int) -> None:
    with pytest.raises(UsageError):
        TINY.with_tp(tp)


@given(
    st.builds(
        Geometry,
        n_layers=st.integers(1, 100),
        n_experts=st.integers(1, 512),
        hidden=st.integers(1, 128).map(lambda x: 64 * x),
        inter=st.integers(1, 128).map(lambda x: 64 * x),
    ),
    st.sampled_from(SlotKind),
)
def test_sections_cover_a_slot_without_gaps(geometry: Geometry, kind: SlotKind) -> None:
    end = 0
    for section in geometry.sections(kind):
        assert section.offset == end
        end += section.size
    assert end == geometry.bytes_of(kind)
    assert geometry.stride_of(kind) % 4096 == 0
    assert 0 <= geometry.stride_of(kind) - end < 4096


@given(st.integers(0, 1 << 60))
def test_align_up_is_the_next_multiple(size: int) -> None:
    aligned = align_up(size)
    assert aligned % 4096 == 0
    assert 0 <= aligned - size < 4096
