import pytest

from moet_boot.planes.geometry import DS4_FLASH, SlotKind
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_memory import (
    SkipMemory,
    cache_layer_bytes,
    layer_parameter_bytes,
    store_bytes,
    write_buffer_bytes,
)
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.units import GIB


def settings(**env: str) -> W2Settings:
    full = {"VLLM_MOE_W2": "1"} | {f"VLLM_MOE_W2_{name}": value for name, value in env.items()}
    return W2Settings.from_env(full, ServerVersion.V1)


def test_one_layer_of_the_real_model() -> None:
    assert layer_parameter_bytes(DS4_FLASH) == 3.1875 * GIB
    assert 43 * layer_parameter_bytes(DS4_FLASH) == 137.0625 * GIB
    assert layer_parameter_bytes(DS4_FLASH.with_tp(2)) == 3.1875 * GIB / 2


@pytest.mark.parametrize(
    ("env", "layer_gib"),
    [
        pytest.param({"DELTA_GB": "0"}, 1.6875, id="2-bit"),
        pytest.param({}, 4.6875, id="FP4 by default"),
        pytest.param({"DELTA_SPLIT": "1"}, 1.6875 + 1.875, id="split"),
    ],
)
def test_a_cached_layer_on_its_way(env: dict[str, str], layer_gib: float) -> None:
    assert cache_layer_bytes(DS4_FLASH, settings(**env)) == layer_gib * GIB


# planes.md d.6
STORES = [
    pytest.param({}, 129, id="FP4 tier by default, pinned"),
    pytest.param({"DELTA_GB": "0"}, 0, id="no tier"),
    pytest.param({"DELTA": "0"}, 0, id="tier switched off"),
    pytest.param({"STORE_DIR": "/store"}, 0, id="rows in the pack"),
    pytest.param({"DELTA_SPLIT": "1"}, 80.625, id="split"),
    pytest.param({"BASE_CACHE_GB": "6"}, 72.5625, id="host base"),
    pytest.param({"BASE_CACHE_GB": "6", "DELTA_GB": "6"}, 72.5625 + 137.0625, id="host base and fp4"),
    pytest.param({"BASE_CACHE_GB": "6", "STORE_DIR": "/store"}, 0, id="base in the pack"),
    pytest.param({"BASE_CACHE_GB": "6", "STORE_DIR": "/store", "BASE_RAM_GB": "auto"}, 18.5625, id="arena: a quarter"),
    pytest.param({"STORE_DIR": "/store", "BASE_RAM_GB": "20"}, 0, id="arena without a base"),
    pytest.param({"BASE_RAM_GB": "20", "DELTA_GB": "0"}, 0, id="arena without a store"),
]


@pytest.mark.parametrize(("env", "gib"), STORES)
def test_what_the_tiers_keep_in_host_memory(env: dict[str, str], gib: float) -> None:
    assert store_bytes(DS4_FLASH, settings(**env), 43) == gib * GIB


@pytest.mark.parametrize(("gib", "slots"), [("20", 3034), ("0.01", 16)])
def test_an_arena_has_whole_slots_and_never_fewer_than_16(gib: str, slots: int) -> None:
    arena = settings(BASE_CACHE_GB="6", STORE_DIR="/store", BASE_RAM_GB=gib)
    assert store_bytes(DS4_FLASH, arena, 43) == slots * DS4_FLASH.slot_stride


def test_nothing_without_2_bit_layers() -> None:
    assert store_bytes(DS4_FLASH, settings(), 0) == 0
    assert store_bytes(DS4_FLASH, W2Settings.from_env({}, ServerVersion.V1), 43) == 0


@pytest.mark.parametrize(
    ("env", "filling", "gib"),
    [
        pytest.param({"STORE_DIR": "/s"}, [SlotKind.DELTA], 3.0, id="delta"),
        pytest.param({"STORE_DIR": "/s", "BASE_CACHE_GB": "6"}, [SlotKind.BASE], 1.6875, id="base"),
        pytest.param(
            {"STORE_DIR": "/s", "BASE_CACHE_GB": "6", "DELTA_GB": "6"}, [SlotKind.BASE, SlotKind.FP4], 4.875, id="both"
        ),
        pytest.param({"STORE_DIR": "/s"}, [], 0, id="complete"),
        pytest.param({}, [SlotKind.DELTA], 0, id="no store to fill"),
    ],
)
def test_buffers_of_packs_that_are_being_written(env: dict[str, str], filling: list[SlotKind], gib: float) -> None:
    assert write_buffer_bytes(DS4_FLASH, settings(**env), filling) == gib * GIB


def test_sums() -> None:
    memory = SkipMemory(1, 10, 100, 1000, 10000)
    assert memory.host_transient_bytes == 11
    assert memory.resident_store_bytes == 1100
