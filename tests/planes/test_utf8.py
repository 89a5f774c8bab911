import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.planes.utf8 import is_utf8


@given(st.binary(max_size=20))
def test_it_tells_whether_the_bytes_of_a_command_line_were_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError:
        expected = False
    else:
        expected = True
    assert is_utf8(os.fsdecode(raw)) is expected


@pytest.mark.parametrize("text", ["", "/model", "/modèle", "模型", "\0"], ids=ascii)
def test_text_is(text: str) -> None:
    assert is_utf8(text)
