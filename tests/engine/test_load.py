import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.engine.load import Load, parse_load

PAGE = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny-moe"} 2.0
vllm:num_requests_waiting{engine="0",model_name="tiny-moe"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="tiny-moe"} 1200.0
vllm:generation_tokens_total{engine="0",model_name="tiny-moe"} 3.0e+02
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny-moe"} 4.0
vllm:kv_cache_usage_perc{engine="0"} 0.5
process_cpu_seconds_total 12.0
"""


def test_requests_and_progress_are_summed() -> None:
    assert parse_load(PAGE) == Load(requests=3, progress=1504.0)


def test_an_idle_server_is_not_busy() -> None:
    load = parse_load(PAGE.replace("} 2.0", "} 0.0").replace("} 1.0", "} 0.0"))
    assert load is not None
    assert not load.busy


@pytest.mark.parametrize("text", ["", "<html>", "process_cpu_seconds_total 12.0", "vllm:num_requests_running nan"])
def test_another_page_is_no_load(text: str) -> None:
    assert parse_load(text) is None


@pytest.mark.parametrize("value", ["1e", "--", "+", "1.2.3"])
def test_a_broken_number_breaks_nothing(value: str) -> None:
    assert parse_load(f"vllm:num_requests_running {value}") == Load(0, 0.0)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    load = parse_load(text)
    assert load is None or load.requests >= 0 or "-" in text
