import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.exits import Exit
from moet_boot.profile.config_file import Config, ConfigFile
from moet_boot.profile.model import Profile, SettingValue
from moet_boot.profile.overrides import apply_overrides
from tests.profile.shipped import MTP, shipped, with_sets


def config(**settings: SettingValue) -> Config:
    content = ConfigFile(set={key.replace("__", "-"): value for key, value in settings.items()})
    return Config(((Path("/etc/moet-boot/config.toml"), content),))


@pytest.mark.parametrize("key", ["--max-num-seqs", "max-num-seqs", "max_num_seqs", "--max_num_seqs"])
def test_a_flag_with_and_without_dashes(key: str) -> None:
    setting = with_sets("rtx6000-a", f"{key}=4").flags["--max-num-seqs"]
    assert (setting.value, setting.layer, setting.overrides) == (4, "flag", ("profile=1",))


def test_an_environment_variable_gets_its_type() -> None:
    setting = with_sets("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=4").env["VLLM_MOE_W2_DELTA_GB"]
    assert (setting.value, setting.layer, setting.overrides) == (4, "flag", ("profile=6",))
    assert setting.replaced_why
    assert "512 slots" in setting.replaced_why


def test_the_profile_itself_is_left_alone() -> None:
    before = shipped("rtx6000-a").model_dump()
    with_sets("rtx6000-a", "max-num-seqs=4", "VLLM_MOE_W2_GATE=", "port=1", "path.checkpoint=/x")
    assert shipped("rtx6000-a").model_dump() == before


def test_a_setting_that_the_profile_does_not_have_is_added() -> None:
    profile = with_sets("rtx6000-a", "VLLM_LOGGING_LEVEL=DEBUG", "seed=7")
    assert profile.env_values()["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert profile.flag("--seed") == 7


@pytest.mark.parametrize("nothing", ["", "null"])
def test_nothing_leaves_a_setting_out(nothing: str) -> None:
    profile = with_sets("rtx6000-a", f"VLLM_MOE_W2_GATE={nothing}", f"max-num-seqs={nothing}")
    assert "VLLM_MOE_W2_GATE" not in profile.env_values()
    assert profile.flag("--max-num-seqs") is None
    assert profile.env["VLLM_MOE_W2_GATE"].absent


def test_the_last_of_two_wins() -> None:
    setting = with_sets("rtx6000-a", "max-num-seqs=2", "max_num_seqs=3").flags["--max-num-seqs"]
    assert (setting.value, setting.overrides) == (3, ("flag=2", "profile=1"))


def test_precedence_from_the_command_line_down() -> None:
    profile = apply_overrides(
        shipped("rtx6000-b", "mtp"),
        ["max-num-seqs=5"],
        env={"MOET_BOOT_SET": "max-num-seqs=4"},
        config=config(max__num__seqs=3),
    )
    setting = profile.flags["--max-num-seqs"]
    assert (setting.value, setting.layer) == (5, "flag")
    assert setting.overrides == ("environment=4", "config=3", "variant=192", "profile=256")


def test_the_environment_wins_over_the_config_file() -> None:
    profile = apply_overrides(
        shipped("demo"), [], env={"MOET_BOOT_SET": "max-num-seqs=2"}, config=config(max__num__seqs=3)
    )
    setting = profile.flags["--max-num-seqs"]
    assert (setting.value, setting.layer, setting.overrides) == (2, "environment", ("config=3", "profile=4"))


def test_the_config_file_is_named_as_the_source() -> None:
    setting = apply_overrides(shipped("demo"), [], config=config(seed=3)).flags["--seed"]
    assert (setting.value, setting.source) == (3, "config file /etc/moet-boot/config.toml")


def test_without_anything_on_top_nothing_changes() -> None:
    assert apply_overrides(shipped("spark"), [], env={}) == shipped("spark")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max-num-seqs=2,max-model-len=64", {"--max-num-seqs": 2, "--max-model-len": 64}),
        ("max-num-seqs=2\nmax-model-len=64\n", {"--max-num-seqs": 2, "--max-model-len": 64}),
        (" max-num-seqs = 2 , --max-model-len=64 ", {"--max-num-seqs": 2, "--max-model-len": 64}),
        ("", {"--max-num-seqs": 4}),
        (
            'speculative-config={"method":"ngram","num_speculative_tokens":2},max-num-seqs=2',
            {"--speculative-config": '{"method":"ngram","num_speculative_tokens":2}', "--max-num-seqs": 2},
        ),
    ],
    ids=["commas", "lines", "blanks", "nothing", "JSON has commas of its own"],
)
def test_several_settings_in_one_variable(text: str, expected: dict[str, SettingValue]) -> None:
    profile = apply_overrides(shipped("demo"), [], env={"MOET_BOOT_SET": text})
    assert {flag: profile.flag(flag) for flag in expected} == expected


def test_json_is_passed_on_as_it_was_written() -> None:
    text = with_sets("rtx6000-b", MTP).flag("--speculative-config")
    assert json.loads(str(text)) == {"method": "deepseek_mtp", "num_speculative_tokens": 2}


NEGATIVE = "--no-scheduler-reserve-full-isl"
POSITIVE = "--scheduler-reserve-full-isl"


@pytest.mark.parametrize(
    ("setting", "name", "value", "overrides"),
    [
        ("scheduler-reserve-full-isl=true", POSITIVE, True, (f"profile={NEGATIVE}",)),
        ("scheduler-reserve-full-isl=false", NEGATIVE, True, ("profile=true",)),
        ("no-scheduler-reserve-full-isl=true", NEGATIVE, True, ("profile=true",)),
        ("no-scheduler-reserve-full-isl=false", POSITIVE, True, (f"profile={NEGATIVE}",)),
        ("no-scheduler-reserve-full-isl=", POSITIVE, None, (f"profile={NEGATIVE}",)),
        ("trust-remote-code=false", "--no-trust-remote-code", True, ("profile=--trust-remote-code",)),
    ],
)
def test_a_switch_stands_in_one_form_only(
    setting: str, name: str, value: bool | None, overrides: tuple[str, ...]
) -> None:
    flags = with_sets("rtx6000-a", setting).flags
    forms = {
        "--no-" + name.removeprefix("--no-").removeprefix("--"),
        "--" + name.removeprefix("--no-").removeprefix("--"),
    }
    assert forms & set(flags) == {name}
    assert (flags[name].value, flags[name].overrides) == (value, overrides)


def test_a_switch_without_a_negative_form_is_left_out() -> None:
    setting = with_sets("demo", "aggregate-engine-logging=false").flags["--aggregate-engine-logging"]
    assert setting.absent


@pytest.mark.parametrize(
    ("setting", "what", "fix"),
    [
        ("max-modle-len=3", "no such flag", "did you mean --max-model-len?"),
        ("max_num_seq=3", "no such flag", "did you mean --max-num-seqs?"),
        ("prot=3", "no such flag", "did you mean"),
        ("qqqqqqqqqq=3", "no such flag", "go after `--`"),
        ("VLLM_MOE_W2_DETLA_GB=4", "no such environment variable", "did you mean VLLM_MOE_W2_DELTA_GB?"),
        ("QQQQQQQQQQ=4", "no such environment variable", "knows the names"),
        ("VLLM_MOE_W2_DELTA_GB=lots", "a number of GiB, or auto", "profiles explain"),
        ("max-num-seqs=many", "expected a whole number", "profiles explain"),
        ("kv-cache-dtype=fp7", "expected one of", "profiles explain"),
        ("speculative-config={", "expected JSON", "profiles explain"),
        ("trust-remote-code=maybe", "expected true or false", "profiles explain"),
        ("no equals sign", "expected KEY=VALUE", "such as"),
        ("=5", "expected KEY=VALUE", "such as"),
        ("Max-Num-Seqs=4", "no such flag", "did you mean --max-num-seqs?"),
    ],
)
def test_what_cannot_be_set(setting: str, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_sets("rtx6000-a", setting)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.what.startswith("--set ")
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("profile", "setting", "flag", "value"),
    [
        ("rtx6000-a", "max-num-partial-prefills=2", "--max-num-partial-prefills", 2),
        ("rtx6000-b", "override_attention_dtype=fp8", "--override-attention-dtype", "fp8"),
        ("rtx6000-a", "calculate-kv-scales=true", "--calculate-kv-scales", True),
        ("rtx6000-a", "mamba-cache-mode=all", "--mamba-cache-mode", "all"),
        ("rtx6000-a", "max-num-active-seqs=4", "--max-num-active-seqs", 4),
        ("rtx6000-a", "device-memory-utilization=0.9", "--gpu-memory-utilization", 0.9),
        ("demo", "max-num-partial-prefills=2", "--max-num-partial-prefills", 2),
    ],
    ids=["0.24-only", "in-other-letters", "a-switch", "0.24-only-choice", "0.32-only", "0.32-only-name", "of-the-past"],
)
def test_flags_of_every_release_line_that_is_known_can_be_set(
    profile: str, setting: str, flag: str, value: SettingValue
) -> None:
    assert with_sets(profile, setting).flags[flag].value == value


def test_a_value_is_read_as_the_profiles_own_release_line_reads_it() -> None:
    with pytest.raises(UsageError, match="expected one of"):
        with_sets("rtx6000-a", "gdn-prefill-backend=aiter_flydsl")
    assert with_sets("demo", "gdn-prefill-backend=aiter_flydsl").flags["--gdn-prefill-backend"].value == "aiter_flydsl"


def test_a_mistake_is_said_of_the_layer_that_made_it() -> None:
    with pytest.raises(UsageError, match=r"^MOET_BOOT_SET max-modle-len=3: "):
        apply_overrides(shipped("demo"), [], env={"MOET_BOOT_SET": "max-modle-len=3"})
    with pytest.raises(UsageError, match=r"^config file /etc/moet-boot/config.toml maxx=3: "):
        apply_overrides(shipped("demo"), [], config=config(maxx=3))


def test_moet_boot_engine_names_the_program() -> None:
    profile = apply_overrides(shipped("demo"), [], env={"MOET_BOOT_ENGINE": "/opt/vllm"})
    assert profile.engine.command == ("/opt/vllm", "serve")
    assert profile.chosen["engine.command"].overrides == ("profile=.demo/engine/bin/vllm",)


keys = st.sampled_from(
    ["max-num-seqs", "max-model-len", "VLLM_MOE_W2_DELTA_GB", "port", "seed", "gpus", "zzz", "x y", "A"]
)
texts = st.sampled_from(["", "1", "0", "-5", "auto", "true", "{}", "null", "1e9", "é", "a=b"]) | st.text(max_size=6)


@given(sets=st.lists(st.builds("{}={}".format, keys, texts), max_size=4))
def test_whatever_is_set_it_is_a_valid_profile_or_one_clear_error(sets: list[str]) -> None:
    try:
        profile = with_sets("rtx6000-a", *sets)
    except UsageError as error:
        refusal = error
    else:
        # what was copied without validation must still be valid
        assert Profile.model_validate_json(profile.model_dump_json(by_alias=True)) == profile
        return
    assert refusal.what.isprintable()
    assert refusal.what.startswith("--set ")
