from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.forecast.asked import Asked, argument, asked, draft_tokens, whole_number
from tests.checks.cases import plan_of

MTP = '{"method":"deepseek_mtp","num_speculative_tokens":2}'


def ask(profile: str, *sets: str, variant: str | None = None, extra: tuple[str, ...] = ()) -> Asked:
    return asked(*plan_of(profile, variant, sets, extra=extra))


def test_what_configuration_a_asks_for() -> None:
    wish = ask("rtx6000-a")
    assert (wish.context_tokens, wish.utilization, wish.draft_tokens) == (262_144, 0.99, 0)
    assert wish.graph_estimate is False
    assert wish.w2 is not None
    assert wish.w2.delta.size_gib == 6
    assert wish.problems == ()


def test_an_image_that_decides_alone_is_asked_for_nothing() -> None:
    wish = ask("spark", variant="mtp")
    assert (wish.context_tokens, wish.utilization, wish.w2) == (None, None, None)
    assert wish.draft_tokens == 2


@pytest.mark.parametrize(
    ("extra", "context"),
    [
        pytest.param(("--max-model-len", "1000"), 1000, id="the-last-one-wins"),
        pytest.param(("--max-model-len=1k",), 1000, id="equals-and-a-scale"),
        pytest.param(("--max-model-len", "1K"), 1024, id="binary-scale"),
        pytest.param(("--max-model-len", "auto"), None, id="auto"),
        pytest.param(("--max-model-len", "-1"), None, id="minus-one"),
    ],
)
def test_extra_arguments_count(extra: tuple[str, ...], context: int | None) -> None:
    assert ask("rtx6000-b", extra=extra).context_tokens == context


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        pytest.param(("--max-model-len", "long"), "--max-model-len is 'long'", id="a-word"),
        pytest.param(("--max-model-len",), "--max-model-len is ''", id="no-value"),
        pytest.param(("--gpu-memory-utilization", "0"), "--gpu-memory-utilization is '0'", id="no-share"),
        pytest.param(("--gpu-memory-utilization", "nan"), "--gpu-memory-utilization is 'nan'", id="nan"),
        pytest.param(("--speculative-config", "[]"), "--speculative-config is '[]'", id="no-object"),
        pytest.param(("--kv-cache-memory-bytes", "-5"), "--kv-cache-memory-bytes is '-5'", id="negative"),
    ],
)
def test_what_the_server_cannot_read_is_a_problem_and_no_crash(extra: tuple[str, ...], problem: str) -> None:
    wish = ask("rtx6000-b", extra=extra)
    assert len(wish.problems) == 1
    assert problem in wish.problems[0]


def test_kv_cache_of_a_cpu_comes_from_the_environment() -> None:
    assert ask("demo").kv_bytes == 1 << 30
    assert ask("demo", "VLLM_CPU_KVCACHE_SPACE=3").kv_bytes == 3 << 30
    assert ask("rtx6000-b", extra=("--kv-cache-memory-bytes", "2G")).kv_bytes == 2 << 30


@pytest.mark.parametrize(("value", "on"), [(None, True), ("1", True), ("0", False)])
def test_the_graph_estimate_is_on_unless_switched_off(value: str | None, on: bool) -> None:
    sets = () if value is None else (f"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS={value}",)
    assert ask("rtx6000-b", *sets).graph_estimate is on


@pytest.mark.parametrize(("config", "tokens"), [(None, 0), ("", 0), ("null", 0), (MTP, 2)])
def test_draft_tokens(config: str | None, tokens: int) -> None:
    assert draft_tokens(config) == tokens


@given(st.text(max_size=20))
def test_no_config_crashes_it(config: str) -> None:
    with suppress(UsageError):
        assert draft_tokens(config) >= 0


@given(st.text(max_size=12))
def test_no_number_crashes_it(text: str) -> None:
    with suppress(UsageError):
        assert whole_number("--x", text) > 0


@given(st.integers(1, 10**12))
def test_plain_numbers_are_read_as_they_are(number: int) -> None:
    assert whole_number("--x", str(number)) == number


def test_an_argument_that_is_not_there() -> None:
    assert argument(plan_of("rtx6000-b")[1], "--no-such") is None
