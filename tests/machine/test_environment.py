import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.environment import KEPT, pick_variables


def test_only_what_changes_a_boot_is_kept() -> None:
    environment = {
        "VLLM_MOE_W2": "1",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HOME": "/home/someone",
        "HOSTNAME": "box",
        "SSH_CLIENT": "10.0.0.1 22",
        "AWS_SECRET_ACCESS_KEY": "x",
        "MY_VLLM_THING": "x",
    }
    assert pick_variables(environment) == {"CUDA_VISIBLE_DEVICES": "0,1", "VLLM_MOE_W2": "1"}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        pytest.param("VLLM_API_KEY", "hunter2", "[redacted]", id="secret-by-name"),
        pytest.param("VLLM_CACHE_ROOT", "sk-abcdefghijkl", "[redacted]", id="secret-by-look"),
        pytest.param("VLLM_HOST_IP", "192.168.1.17", "[address]", id="ipv4"),
        pytest.param("VLLM_HOST_IP", "fe80::1:2:3:4", "[address]", id="ipv6"),
        pytest.param("VLLM_LOG_URL", "https://me:pw@corp.example/x", "https[address]", id="url"),
        pytest.param("CUDA_VISIBLE_DEVICES", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-[uuid]", id="uuid"),
        pytest.param("CUDA_VISIBLE_DEVICES", "", "", id="no-device"),
        pytest.param("VLLM_MOE_W2_DELTA_GB", "6.5", "6.5", id="number"),
        pytest.param("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "expandable_segments:True", id="option"),
        pytest.param("VLLM_TOKENIZER_MODE", "fast", "fast", id="not-a-token"),
    ],
)
def test_values(name: str, value: str, shown: str) -> None:
    assert pick_variables({name: value}) == {name: shown}


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=40), max_size=5))
def test_nothing_else_is_ever_kept(environment: dict[str, str]) -> None:
    assert all(KEPT.fullmatch(name) for name in pick_variables(environment))
