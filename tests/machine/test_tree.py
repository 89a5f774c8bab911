from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.tree import MAX_TEXT, Tree, file_kind, unescape
from tests.machine.trees import tree_of


def test_names_are_looked_up_below_the_root(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"/proc/a": " text\n"})
    assert tree.text("/proc/a") == "text"
    assert tree.path("/proc/a") == tmp_path / "proc" / "a"


def test_a_missing_file_is_an_error_or_nothing(tmp_path: Path) -> None:
    assert Tree(tmp_path).text_or_none("/proc/a") is None
    with pytest.raises(FileNotFoundError):
        Tree(tmp_path).text("/proc/a")


def test_bytes_that_are_no_text_do_not_stop_a_reader(tmp_path: Path) -> None:
    assert tree_of(tmp_path, {"/a": b"x\xffy"}).text("/a") == "x\ufffdy"


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(MAX_TEXT * 4)
    assert len(Tree(tmp_path).text("/huge")) == MAX_TEXT


def test_the_running_kernel_lets_its_settings_be_read() -> None:
    assert Tree().text("/proc/sys/vm/swappiness").isdecimal()


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        ("/swap.img", "/swap.img"),
        (r"/my\040disk/a\134b", "/my disk/a\\b"),
        (r"/tab\011end", "/tab\tend"),
        (r"/a\9", r"/a\9"),
        ("\\", "\\"),
        (r"\04", r"\04"),
        ("", ""),
    ],
)
def test_escapes_of_the_kernel(printed: str, path: str) -> None:
    assert unescape(printed) == path


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_what_the_kernel_escapes_comes_back(path: str) -> None:
    printed = "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in path)
    assert unescape(printed) == path


def test_the_kind_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    assert file_kind(tmp_path / "file") == (tmp_path / "file").stat().st_mode
    assert file_kind(tmp_path / "dangling") is None
    assert file_kind(tmp_path / "file" / "below") is None
