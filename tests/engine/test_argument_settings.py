import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.engine.argument_settings import settings_among
from moet_boot.profile.vllm_flags import settable_flags


@pytest.mark.parametrize(
    ("arguments", "settings", "rest"),
    [
        ("--port 9001", ["--port=9001"], []),
        ("--port=9001 --max_num_seqs 4", ["--port=9001", "--max-num-seqs=4"], []),
        ("-tp 2", ["--tensor-parallel-size=2"], []),
        ("--max-num-seq 9", ["--max-num-seqs=9"], []),
        ("--enforce-eager", ["--enforce-eager=true"], []),
        ("--no-enable-prefix-caching", ["--enable-prefix-caching=false"], []),
        ("--max-model-len -1", ["--max-model-len=-1"], []),
        ("--compilation-config {}", ["--compilation-config={}"], []),
        ("--fork-flag 7 --seed 7 --other", ["--seed=7"], ["--fork-flag", "7", "--other"]),
        ("--api-key a b --port 1", ["--port=1"], ["--api-key", "a", "b"]),
        ("--enforce-eager=false", [], ["--enforce-eager=false"]),
        ("--compilation-config.mode 3", [], ["--compilation-config.mode", "3"]),
        ("--port", [], ["--port"]),
        ("--port --seed 7", ["--seed=7"], ["--port"]),
        ("--quantization None", [], ["--quantization", "None"]),
        ("--max- 3", [], ["--max-", "3"]),
        ("word --seed 7 - -3", ["--seed=7"], ["word", "-", "-3"]),
        ("--max-num-partial-prefills 2", ["--max-num-partial-prefills=2"], []),
        ("", [], []),
    ],
)
def test_what_is_a_setting(arguments: str, settings: list[str], rest: list[str]) -> None:
    spoken = settings_among(arguments.split())
    assert (list(spoken.settings), list(spoken.rest)) == (settings, rest)


@given(
    st.lists(st.text(max_size=12) | st.sampled_from([*sorted(settable_flags()), "--port=1", "7", "-tp"]), max_size=8)
)
def test_nothing_is_lost(arguments: list[str]) -> None:
    spoken = settings_among(arguments)
    left = list(spoken.rest)
    assert [word for word in arguments if word in left] == left or len(left) < len(arguments)
    words = sum(1 if text.endswith(("=true", "=false")) or text in arguments else 2 for text in spoken.settings)
    assert len(left) + words >= len(arguments)
    assert all(text.partition("=")[0] in settable_flags() for text in spoken.settings)
