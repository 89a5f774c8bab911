import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile.model import SettingValue
from moet_boot.profile.vllm_flags import ServerFlag, canonical, server_flags
from tests.profile.shipped import VARIANTS, shipped


def test_the_catalogue_has_the_flags_of_a_real_server() -> None:
    flags = server_flags()
    assert len(flags) > 300
    assert all(name.startswith("--") and not name.startswith("--no-") for name in flags)
    assert flags["--max-model-len"].suffixes
    assert flags["--trust-remote-code"].negatable


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_shipped_flag_is_one_that_the_server_takes(name: str, variant: str | None) -> None:
    for flag, setting in shipped(name, variant).flags.items():
        found = canonical(flag)
        assert found is not None, flag
        if setting.value is not None and not isinstance(setting.value, bool):
            assert server_flags()[found[0]].read(str(setting.value)) == setting.value


@pytest.mark.parametrize(
    ("written", "flag", "inverted"),
    [
        ("--max-num-seqs", "--max-num-seqs", False),
        ("max-num-seqs", "--max-num-seqs", False),
        ("max_num_seqs", "--max-num-seqs", False),
        ("--max_num_seqs", "--max-num-seqs", False),
        ("-tp", "--tensor-parallel-size", False),
        ("tp", "--tensor-parallel-size", False),
        ("device-memory-utilization", "--gpu-memory-utilization", False),
        ("--no-trust-remote-code", "--trust-remote-code", True),
        ("no_scheduler_reserve_full_isl", "--scheduler-reserve-full-isl", True),
    ],
)
def test_a_flag_is_known_however_it_is_written(written: str, flag: str, inverted: bool) -> None:
    assert canonical(written) == (flag, inverted)


@pytest.mark.parametrize("name", ["", "--", "zzz", "--no-max-num-seqs", "Max-Num-Seqs", "no-", "-"])
def test_other_names_are_unknown(name: str) -> None:
    assert canonical(name) is None


@pytest.mark.parametrize(
    ("flag", "text", "value"),
    [
        ("--max-model-len", "32768", 32768),
        ("--max-model-len", "32k", 32000),
        ("--max-model-len", "32K", 32768),
        ("--max-model-len", "25.6k", 25600),
        ("--max-model-len", "1m", 1_000_000),
        ("--max-model-len", "1M", 1 << 20),
        ("--max-model-len", "auto", "auto"),
        ("--max-model-len", "AUTO", "auto"),
        ("--max-model-len", "-1", -1),
        ("--max-num-seqs", "4", 4),
        ("--max-num-seqs", "+4", 4),
        ("--gpu-memory-utilization", "0.95", 0.95),
        ("--gpu-memory-utilization", "1", 1.0),
        ("--gpu-memory-utilization", "9e-1", 0.9),
        ("--trust-remote-code", "true", True),
        ("--trust-remote-code", "On", True),
        ("--trust-remote-code", "0", False),
        ("--kv-cache-dtype", "fp8", "fp8"),
        ("--compilation-config", '{"cudagraph_mode":"FULL"}', '{"cudagraph_mode":"FULL"}'),
        ("--tokenizer-mode", "deepseek_v4", "deepseek_v4"),
        ("--tokenizer-mode", "with spaces", "with spaces"),
    ],
)
def test_texts_that_a_flag_takes(flag: str, text: str, value: SettingValue) -> None:
    read = server_flags()[flag].read(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("flag", "text", "expected"),
    [
        ("--max-model-len", "abc", "a whole number, such as 32768, 32k or 32K or auto"),
        ("--max-model-len", "1.5K", "a whole number"),
        ("--max-model-len", "1.5", "a whole number"),
        ("--max-model-len", "3 2", "a whole number"),
        ("--max-model-len", "\u0664", "a whole number"),
        ("--max-num-seqs", "4k", "a whole number"),
        ("--max-num-seqs", "auto", "a whole number"),
        ("--max-num-seqs", "9" * 30, "a whole number"),
        ("--gpu-memory-utilization", "high", "a number"),
        ("--gpu-memory-utilization", "nan", "a number"),
        ("--gpu-memory-utilization", "inf", "a number"),
        ("--trust-remote-code", "maybe", "true or false"),
        ("--trust-remote-code", "", "true or false"),
        ("--kv-cache-dtype", "fp7", "one of auto, bfloat16"),
        ("--kv-cache-dtype", "FP8", "one of auto, bfloat16"),
        ("--compilation-config", "{", "JSON"),
        ("--speculative-config", "{'method':1}", "JSON"),
        ("--speculative-config", "[" * 100_000, "JSON"),
    ],
)
def test_texts_that_a_flag_refuses_say_what_it_takes(flag: str, text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=r"^expected") as caught:
        server_flags()[flag].read(text)
    assert expected in str(caught.value)


def test_choices_that_the_server_folds_are_folded() -> None:
    flag = ServerFlag(kind="choice", choices=("full_and_piecewise",), fold=True)
    assert flag.read("FULL-AND-PIECEWISE") == "full_and_piecewise"


@given(number=st.integers(-(10**17), 10**17))
def test_every_whole_number_is_read_as_itself(number: int) -> None:
    assert server_flags()["--max-num-seqs"].read(str(number)) == number


@given(text=st.text(max_size=12))
def test_any_text_is_a_value_or_a_reason(text: str) -> None:
    for name in ("--max-model-len", "--gpu-memory-utilization", "--trust-remote-code", "--speculative-config"):
        try:
            value = server_flags()[name].read(text)
        except ValueError as error:
            reason = str(error)
        else:
            reason = ""
            if name == "--speculative-config":
                json.loads(str(value))
        assert reason == "" or reason.startswith("expected")
