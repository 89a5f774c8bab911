import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.checks.cuda_code import runs_on


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        pytest.param("12.1a", "12.1", True, id="a-on-itself"),
        pytest.param("12.0a", "12.1", False, id="a-not-on-the-next-minor"),
        pytest.param("12.1a", "12.0", False, id="a-not-on-an-older-one"),
        pytest.param("12.0f", "12.1", True, id="family-of-the-major"),
        pytest.param("12.1f", "12.0", False, id="family-not-backwards"),
        pytest.param("10.0f", "12.0", False, id="family-not-across-majors"),
        pytest.param("12.0", "12.1", True, id="plain-code-on-a-later-minor"),
        pytest.param("12.1", "12.0", False, id="plain-code-not-backwards"),
        pytest.param("9.0", "12.1", False, id="plain-code-not-across-majors"),
        pytest.param("9.0+PTX", "12.1", True, id="ptx-on-a-later-major"),
        pytest.param("12.1+PTX", "12.0", False, id="ptx-not-backwards"),
        pytest.param("9.0a+PTX", "12.1", False, id="ptx-of-an-a-target"),
        pytest.param("sm_120", "12.1", True, id="nvcc-name"),
        pytest.param("sm_120a", "12.1", False, id="nvcc-name-with-a"),
        pytest.param("compute_90", "12.0", True, id="nvcc-name-of-ptx"),
        pytest.param("SM_121A", "12.1", True, id="upper-case"),
        pytest.param("120", "12.0", True, id="digits"),
        pytest.param("", "12.0", False, id="empty"),
        pytest.param("blackwell", "12.0", False, id="a-word"),
        pytest.param("12.0", "unknown", False, id="capability-is-no-number"),
    ],
)
def test_one_entry(arch: str, capability: str, runs: bool) -> None:
    assert runs_on([arch], capability) is runs


def test_one_entry_that_runs_is_enough() -> None:
    assert runs_on(["9.0a", "10.0a", "12.1a"], "12.1")
    assert not runs_on(["9.0a", "10.0a", "12.0a"], "12.1")
    assert not runs_on([], "12.1")


@given(st.text(max_size=12), st.text(max_size=6))
def test_no_text_crashes_it(arch: str, capability: str) -> None:
    assert runs_on([arch], capability) in {True, False}


@given(st.integers(1, 20), st.integers(0, 9))
def test_code_for_a_capability_runs_on_it_in_every_spelling(major: int, minor: int) -> None:
    forms = [f"{major}.{minor}", f"{major}.{minor}a", f"{major}.{minor}f", f"sm_{major}{minor}", f"{major}.{minor}+PTX"]
    assert all(runs_on([form], f"{major}.{minor}") for form in forms)
