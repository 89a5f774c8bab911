import pytest

from moet_boot.planes.knob_table import KNOBS
from moet_boot.profile.env_names import known_env, read_env, vllm_names
from moet_boot.profile.model import SettingValue
from tests.profile.shipped import VARIANTS, shipped


def test_the_names_are_those_of_a_real_server() -> None:
    assert len(vllm_names()) > 200
    assert {"VLLM_CPU_KVCACHE_SPACE", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "VLLM_LOGGING_LEVEL"} <= vllm_names()


def test_known_are_the_servers_the_forks_and_the_libraries_names() -> None:
    known = known_env(shipped("spark"))
    assert {"VLLM_LOGGING_LEVEL", "CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE", *KNOBS} <= known
    assert "HF_TOKEN" not in known, "a secret does not belong into a profile"


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_what_a_shipped_profile_sets_reads_back_as_it_is(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    for key, text in profile.env_values().items():
        assert read_env(profile, key, text) == profile.env[key].value


@pytest.mark.parametrize(
    ("profile", "name", "text", "value"),
    [
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "6", 6),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "6.0", 6),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "5.5", 5.5),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "auto", "auto"),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "-1", -1),
        ("rtx6000-a", "VLLM_MOE_W2_GATE", "1", 1),
        ("rtx6000-a", "VLLM_MOE_W2_GATE_TAU", "0.5", 0.5),
        ("rtx6000-a", "VLLM_MOE_W2_PLANES_CACHE", "/a b", "/a b"),
        ("rtx6000-a", "VLLM_MOE_W2_ZERO_MODE", "alt", "alt"),
        ("demo", "VLLM_CPU_KVCACHE_SPACE", "2", 2),
        ("demo", "VLLM_CACHE_ROOT", "/tmp/x", "/tmp/x"),
        ("demo", "VLLM_LOGGING_LEVEL", "DEBUG", "DEBUG"),
        ("spark", "CUDA_VISIBLE_DEVICES", "0,1", "0,1"),
    ],
)
def test_values_get_the_kind_that_the_server_reads(profile: str, name: str, text: str, value: SettingValue) -> None:
    read = read_env(shipped(profile), name, text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("profile", "name", "text", "reason"),
    [
        ("rtx6000-a", "VLLM_MOE_W2", "true", "exactly 1"),
        ("rtx6000-a", "VLLM_MOE_W2_GATE", "yes", "exactly 1"),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "six", "a number of GiB, or auto"),
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB", "nan", "a number of GiB, or auto"),
        ("rtx6000-a", "VLLM_MOE_W2_STORE_THREADS", "8.5", "a whole number"),
        ("rtx6000-a", "VLLM_MOE_W2_ZERO_MODE", "never", "one of auto, sign, alt"),
        ("rtx6000-a", "VLLM_MOE_W2_REPLAY_MODE", "strict", "read by v2 servers only"),
        ("rtx6000-a", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "off", "expected a whole number, such as 0"),
        ("demo", "VLLM_CPU_KVCACHE_SPACE", "1.5", "expected a whole number, such as 1"),
    ],
)
def test_what_the_server_would_misread_is_refused(profile: str, name: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_env(shipped(profile), name, text)


def test_the_reason_carries_what_the_knob_means() -> None:
    with pytest.raises(ValueError, match="master switch of the 2-bit expert path"):
        read_env(shipped("rtx6000-a"), "VLLM_MOE_W2", "on")
