import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import W2Settings, pool_size, switch

V1, V2 = ServerVersion.V1, ServerVersion.V2
P = "VLLM_MOE_W2_"


def test_an_empty_environment_has_the_servers_defaults() -> None:
    settings = W2Settings.from_env({}, V1)
    assert not settings.enabled
    assert not settings.base_cache
    assert settings.num_layers is None
    assert settings.planes_cache is None
    assert settings.store_dir is None
    assert settings.zero_mode == "auto"
    assert settings.base_ram is None
    assert settings.delta.size_gib == 2.0
    assert not settings.delta_is_set
    assert settings.fp4_tier  # the trap: unset means on


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), ("0", False), ("true", False), ("yes", False), (" 1", False), ("", False), ("01", False)],
)
def test_only_the_exact_string_1_is_on(value: str, *, on: bool) -> None:
    assert W2Settings.from_env({"VLLM_MOE_W2": value}, V1).enabled is on
    assert switch({f"{P}GATE": value}, f"{P}GATE") is on


@pytest.mark.parametrize(
    ("env", "enabled"),
    [
        pytest.param({}, True, id="unset: 2 GiB"),
        pytest.param({"DELTA_GB": "0"}, False, id="zero"),
        pytest.param({"DELTA_GB": "6"}, True, id="six"),
        pytest.param({"DELTA_GB": "auto"}, True, id="auto"),
        pytest.param({"DELTA_GB": "-1"}, True, id="-1 is auto"),
        pytest.param({"DELTA_GB": "-1.0"}, True, id="-1.0 is auto"),
        pytest.param({"DELTA_GB": "-2"}, False, id="another negative"),
        pytest.param({"DELTA": "0"}, False, id="master switch off"),
        pytest.param({"DELTA": "0", "DELTA_GB": "6"}, False, id="master switch wins"),
        pytest.param({"BASE_CACHE_GB": "4"}, False, id="over a base: unset is off"),
        pytest.param({"BASE_CACHE_GB": "4", "DELTA_GB": "1"}, True, id="over a base: explicit"),
        pytest.param({"BASE_CACHE_GB": "4", "DELTA_GB": "auto"}, False, id="over a base: auto is off"),
        pytest.param({"BASE_CACHE_GB": "4", "DELTA_GB": "-1"}, False, id="over a base: -1 is off"),
    ],
)
@pytest.mark.parametrize("server", ServerVersion)
def test_when_the_fp4_tier_is_on(env: dict[str, str], *, enabled: bool, server: ServerVersion) -> None:
    settings = W2Settings.from_env({P + name: value for name, value in env.items()}, server)
    assert settings.fp4_tier is enabled


@pytest.mark.parametrize(
    ("env", "tag", "slots"),
    [
        pytest.param({}, SlotKind.DELTA, SlotKind.DELTA, id="no base"),
        pytest.param({"DELTA_SPLIT": "1"}, SlotKind.DELTA, SlotKind.FP4Q, id="no base, split"),
        pytest.param({"BASE_CACHE_GB": "4"}, SlotKind.FP4, SlotKind.FP4, id="over a base"),
        pytest.param({"BASE_CACHE_GB": "4", "DELTA_SPLIT": "1"}, SlotKind.FP4Q, SlotKind.FP4Q, id="over a base, split"),
    ],
)
def test_tag_and_slots_of_the_fp4_tier(env: dict[str, str], tag: SlotKind, slots: SlotKind) -> None:
    settings = W2Settings.from_env({P + name: value for name, value in env.items()}, V1)
    assert (settings.fp4_tag, settings.fp4_slots) == (tag, slots)


@pytest.mark.parametrize(
    ("server", "given", "zero_mode"),
    [(V1, "SIGN ", "SIGN "), (V1, "weird", "weird"), (V2, " SIGN ", "sign"), (V2, "alt", "alt")],
)
def test_the_zero_mode_is_cleaned_by_v2_only(server: ServerVersion, given: str, zero_mode: str) -> None:
    assert W2Settings.from_env({f"{P}ZERO_MODE": given}, server).zero_mode == zero_mode


@pytest.mark.parametrize(
    ("name", "value", "server"),
    [
        pytest.param("DELTA_GB", "six", V1, id="delta"),
        pytest.param("DELTA_GB", "", V1, id="empty delta"),
        pytest.param("DELTA_GB", "inf", V2, id="infinite delta"),
        pytest.param("BASE_CACHE_GB", "lots", V1, id="base"),
        pytest.param("BASE_RAM_GB", "half", V2, id="arena"),
        pytest.param("NUM_LAYERS", "43.0", V1, id="layers"),
        pytest.param("ZERO_MODE", "none", V2, id="zero mode"),
    ],
)
def test_what_kills_the_server_is_one_clear_error(name: str, value: str, server: ServerVersion) -> None:
    with pytest.raises(UsageError, match="dies on it at start-up") as failure:
        W2Settings.from_env({P + name: value}, server)
    assert P + name in failure.value.what
    assert P + name in failure.value.fix


def test_folders_and_ids_are_read_as_the_server_reads_them() -> None:
    env = {f"{P}STORE_DIR": " /store ", f"{P}PLANES_CACHE": " ", f"{P}CKPT_ID": "  abc "}
    v1, v2 = W2Settings.from_env(env, V1), W2Settings.from_env(env, V2)
    assert v1.store_dir == "/store"
    assert v1.planes_cache == " "
    assert (v1.ckpt_id, v2.ckpt_id) == (None, "abc")
    assert W2Settings.from_env({f"{P}STORE_DIR": "  ", f"{P}PLANES_CACHE": ""}, V2).store_dir is None


def test_exl3_is_a_thing_of_v2() -> None:
    env = {f"{P}EXL3_BASE": "1"}
    assert not W2Settings.from_env(env, V1).exl3
    assert W2Settings.from_env(env, V2).exl3


def test_pool_sizes() -> None:
    assert pool_size("X", "auto").auto
    assert pool_size("X", "0.5").size_gib == 0.5
    assert W2Settings.from_env({f"{P}BASE_RAM_GB": "auto"}, V1).base_ram == pool_size("X", "auto")


@given(
    st.dictionaries(
        st.sampled_from([f"{P}{name}" for name in ("DELTA_GB", "BASE_CACHE_GB", "NUM_LAYERS", "DELTA")]), st.text()
    )
)
def test_any_text_is_read_or_refused_and_nothing_else(env: dict[str, str]) -> None:
    try:
        settings = W2Settings.from_env(env, V2)
    except UsageError as failure:
        assert any(name in failure.what for name in env)  # noqa: PT017
    else:
        assert settings.fp4_tier in {True, False}
