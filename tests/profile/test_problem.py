import pytest

from moet_boot.exits import Exit
from moet_boot.profile.problem import Problem, ProfileError


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Problem("a.toml", "", "is empty"), "a.toml: is empty"),
        (Problem("a.toml", "env.X", "is missing"), "a.toml: env.X: is missing"),
        (Problem("a.toml", "env.X", "is missing", line=7), "a.toml:7: env.X: is missing"),
        (Problem("", "env.X", "is missing"), "env.X: is missing"),
    ],
)
def test_a_problem_in_words(problem: Problem, words: str) -> None:
    assert str(problem) == words


def test_one_problem_is_the_whole_message() -> None:
    error = ProfileError([Problem("a.toml", "x", "is wrong", "mend it")])
    assert (error.what, error.fix, error.code) == ("a.toml: x: is wrong", "mend it", Exit.USAGE)


def test_of_many_problems_the_first_is_said_and_the_rest_counted() -> None:
    problems = [Problem("a.toml", key, "is wrong", f"mend {key}") for key in "xyz"]
    error = ProfileError(problems)
    assert error.what == "a.toml: x: is wrong (and 2 more: `moet-boot profiles check` lists them)"
    assert error.fix == "mend x"
    assert error.problems == tuple(problems)
