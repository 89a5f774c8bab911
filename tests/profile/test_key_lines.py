import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile.files import shipped_folder, shipped_names
from moet_boot.profile.key_lines import line_of

TEXT = '''\
schema = "x"
name = "mine"

[engine]
port = 1
# port = 2
[env.VLLM_MOE_W2]
value = 1
why = """
[engine]
model = "not a key"
"""
[flags."--max-model-len"]
value = 2
[variant.mtp.env]
A.value = 3
[[list]]
key = 1
'''


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("schema",), 1),
        (("name",), 2),
        (("engine",), 4),
        (("engine", "port"), 5),
        (("env", "VLLM_MOE_W2"), 7),
        (("env", "VLLM_MOE_W2", "value"), 8),
        (("env", "VLLM_MOE_W2", "why"), 9),
        (("flags", "--max-model-len", "value"), 14),
        (("variant", "mtp", "env", "A", "value"), 16),
        (("list", "key"), 18),
    ],
    ids=str,
)
def test_the_line_of_a_key(location: tuple[str, ...], line: int) -> None:
    assert line_of(TEXT, location) == line


def test_a_key_that_is_missing_has_its_tables_line() -> None:
    assert line_of(TEXT, ("engine", "model")) == 4
    assert line_of(TEXT, ("env", "VLLM_MOE_W2", "source")) == 7


@pytest.mark.parametrize("location", [("nothing",), ("env",), ()], ids=["unknown", "no header of its own", "none"])
def test_no_line(location: tuple[str, ...]) -> None:
    assert line_of(TEXT, location) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_names())
def test_in_the_shipped_files_every_key_is_found_on_a_line_that_names_it(name: str) -> None:
    text = (shipped_folder() / f"{name}.toml").read_text(encoding="utf-8")
    lines = text.splitlines()
    settings = [
        (table, key, inner)
        for table, content in tomllib.loads(text).items()
        if table in {"env", "flags", "artefacts", "deadlines", "acceptance"}
        for key, setting in content.items()
        for inner in setting
    ]
    assert settings
    for location in settings:
        line = line_of(text, location)
        assert line is not None, location
        assert lines[line - 1].startswith(f"{location[-1]} = "), location


@given(text=st.text(alphabet="[]=\"'\n.ab # {}\\", max_size=60))
def test_any_text_is_survived(text: str) -> None:
    line = line_of(text, ("a", "b"))
    assert line is None or 1 <= line <= len(text.splitlines())
