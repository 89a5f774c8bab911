import pytest

from moet_boot.forecast.facts import BootFacts, StoreFacts
from moet_boot.forecast.staging import LAYER_BYTES, host_terms, staging
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import W2Settings
from moet_boot.units import from_gib, gib

A = {
    "VLLM_MOE_W2": "1",
    "VLLM_MOE_W2_PLANES_CACHE": "/planescache",
    "VLLM_MOE_W2_STORE_DIR": "/store",
    "VLLM_MOE_W2_DELTA_GB": "6",
}
WHOLE, BROKEN = StoreFacts(complete=True), StoreFacts(complete=False)


def settings_of(env: dict[str, str]) -> W2Settings:
    return W2Settings.from_env(env, ServerVersion.V1)


@pytest.mark.parametrize(
    ("env", "facts", "missed", "known"),
    [
        pytest.param(A, BootFacts(planes_cache=WHOLE, pack_store=WHOLE), 0, True, id="complete"),
        pytest.param(A, BootFacts(planes_cache=BROKEN, pack_store=WHOLE), 43, True, id="cache-broken"),
        pytest.param(A, BootFacts(planes_cache=WHOLE, pack_store=BROKEN), 0, True, id="pack-is-not-asked"),
        pytest.param(A, BootFacts(planes_cache=StoreFacts(complete=False, missing=5)), 5, True, id="five-layers"),
        pytest.param(A, BootFacts(planes_cache=StoreFacts(complete=False, missing=99)), 43, True, id="never-more"),
        pytest.param(A, BootFacts(), 0, False, id="nobody-looked"),
        pytest.param(
            A | {"VLLM_MOE_W2_PLANES_CACHE": ""}, BootFacts(planes_cache=WHOLE), 43, True, id="no-cache-is-named"
        ),
        pytest.param(
            A | {"VLLM_MOE_W2_BASE_CACHE_GB": "11.5"},
            BootFacts(planes_cache=BROKEN, pack_store=WHOLE),
            0,
            True,
            id="base-cache-asks-the-packs",
        ),
        pytest.param(
            A | {"VLLM_MOE_W2_BASE_CACHE_GB": "11.5"},
            BootFacts(planes_cache=WHOLE, pack_store=BROKEN),
            43,
            True,
            id="base-cache-and-no-packs",
        ),
        pytest.param(
            {**A, "VLLM_MOE_W2_BASE_CACHE_GB": "11.5", "VLLM_MOE_W2_STORE_DIR": " "},
            BootFacts(planes_cache=WHOLE, pack_store=WHOLE),
            43,
            True,
            id="base-cache-without-store-dir",
        ),
    ],
)
def test_missed_layers(env: dict[str, str], facts: BootFacts, missed: int, known: bool) -> None:
    staged = staging(settings_of(env), facts)
    assert (staged.missed, staged.known, staged.layers) == (missed, known, 43)
    assert staged.staged_bytes == missed * LAYER_BYTES


def test_all_layers_are_137_gib() -> None:
    assert LAYER_BYTES == 3_422_552_064
    staged = staging(settings_of(A), BootFacts(planes_cache=BROKEN))
    assert gib(staged.staged_bytes) == pytest.approx(137.0625)


def test_the_reason_is_the_readers_where_it_gave_one() -> None:
    told = BootFacts(planes_cache=StoreFacts(complete=False, problem="meta.json is missing"))
    assert staging(settings_of(A), told).problem == "meta.json is missing"
    assert staging(settings_of(A), BootFacts(planes_cache=BROKEN)).problem


@pytest.mark.parametrize(
    ("env", "facts", "name", "size_gib"),
    [
        pytest.param(A, BootFacts(planes_cache=WHOLE, pack_store=WHOLE), "cache_read", 4.6875, id="with-fp4-parts"),
        pytest.param(
            A | {"VLLM_MOE_W2_DELTA_GB": "0"}, BootFacts(planes_cache=WHOLE), "cache_read", 1.6875, id="2-bit-only"
        ),
        pytest.param(A, BootFacts(planes_cache=BROKEN), "cache_read", 0, id="nothing-is-read-on-a-miss"),
        pytest.param(A, BootFacts(planes_cache=WHOLE, pack_store=WHOLE), "resident_stores", 0, id="rows-stay-on-disk"),
        pytest.param(A, BootFacts(planes_cache=WHOLE, pack_store=BROKEN), "resident_stores", 3, id="the-packs-buffer"),
        pytest.param(
            A | {"VLLM_MOE_W2_STORE_DIR": ""}, BootFacts(planes_cache=WHOLE), "resident_stores", 129, id="pinned"
        ),
        pytest.param(A, BootFacts(planes_cache=BROKEN), "staging", 137.0625, id="staged"),
    ],
)
def test_host_memory(env: dict[str, str], facts: BootFacts, name: str, size_gib: float) -> None:
    settings = settings_of(env)
    terms = {term.name: term for term in host_terms(settings, facts, staging(settings, facts))}
    assert terms[name].bytes == from_gib(size_gib)
    assert terms[name].pool == "host"
    assert terms[name].source
