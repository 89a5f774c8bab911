import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.receipts.redact import REDACTED, is_secret_name, redact_argv, redact_env, redact_text


@pytest.mark.parametrize("name", ["HF_TOKEN", "--api-key", "VLLM_API_KEY", "OPENAI_API_KEY", "DB_PASSWORD", "MySecret"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["--max-num-batched-tokens", "--tokenizer-mode", "--tokenizer", "VLLM_MOE_W2", "--port", "HF_HUB_OFFLINE"]
)
def test_names_that_only_sound_like_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["serve", "--api-key", "abc", "--port", "1"], ["serve", "--api-key", REDACTED, "--port", "1"]),
        (["--api-key=abc"], [f"--api-key={REDACTED}"]),
        (["--api-key", "a", "b", "--x"], ["--api-key", REDACTED, REDACTED, "--x"]),
        (["--max-num-batched-tokens", "1024"], ["--max-num-batched-tokens", "1024"]),
        (["--env", "HF=hf_abcdefghijkl"], ["--env", f"HF={REDACTED}"]),
    ],
    ids=["separate", "joined", "several keys", "tokens are no secret", "by look"],
)
def test_command_lines(argv: list[str], expected: list[str]) -> None:
    assert redact_argv(argv) == expected


def test_environments() -> None:
    env = {"HF_TOKEN": "hf_x", "PATH": "/bin", "URL": "http://me:pw@host/x", "EMPTY_TOKEN": ""}
    assert redact_env(env) == {
        "HF_TOKEN": REDACTED,
        "PATH": "/bin",
        "URL": f"http://{REDACTED}@host/x",
        "EMPTY_TOKEN": "",
    }


@given(st.text(alphabet="abcdefgh0123456789", min_size=8, max_size=40))
def test_a_hub_token_never_survives(tail: str) -> None:
    assert tail not in redact_text(f"token is hf_{tail}, thanks")


@given(st.lists(st.text(alphabet="abc-=/ ", max_size=12)))
def test_nothing_is_lost_or_added(argv: list[str]) -> None:
    assert len(redact_argv(argv)) == len(argv)
