"""What is printed for a shell is read back by a real one, word by word."""

import os
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moet_boot.launch.shell_words import shell_line, shell_word

WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


def read_back(line: str) -> list[str]:
    """The words that bash makes of a line."""
    script = f"printf '%s\\0' {line}"
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, env=env)
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=60, deadline=None)
@given(words=st.lists(WORD, min_size=1, max_size=6))
@example(words=["a\tb", "it's \\ \x1b[31m", "", "$HOME `id`", "two\nlines", "\x7f\u200bä", '{"a": "b"}'])
def test_a_shell_reads_the_same_words(words: list[str]) -> None:
    assert read_back(shell_line(words)) == words


@given(word=WORD)
def test_a_terminal_is_told_nothing_but_lines(word: str) -> None:
    assert shell_word(word).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("word", "shown"),
    [("plain", "plain"), ("two words", "'two words'"), ("grün", "'grün'"), ("a\tb", "$'a\\U00000009b'")],
)
def test_how_a_word_looks(word: str, shown: str) -> None:
    assert shell_word(word) == shown
