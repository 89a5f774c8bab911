import pytest

from moet_boot.profile.nearest import did_you_mean, nearest

KNOWN = ["--max-num-seqs", "--max-model-len", "VLLM_MOE_W2_DELTA_GB", "spark"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max_num_seq", "--max-num-seqs"),
        ("MAX-MODEL-LEN", "--max-model-len"),
        ("--max-modle-len", "--max-model-len"),
        ("VLLM_MOE_W2_DETLA_GB", "VLLM_MOE_W2_DELTA_GB"),
        ("sprak", "spark"),
        ("zzz", None),
        ("", None),
    ],
)
def test_the_nearest_name(name: str, expected: str | None) -> None:
    assert nearest(name, KNOWN) == expected


def test_the_question_and_what_is_said_otherwise() -> None:
    assert did_you_mean("sprak", KNOWN) == "did you mean spark?"
    assert did_you_mean("zzz", KNOWN, "see the list") == "see the list"


def test_without_known_names_there_is_no_hint() -> None:
    assert nearest("spark", []) is None
