import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile import files
from moet_boot.profile.files import MAX_BYTES, is_path, locate, read_toml, shipped_folder, shipped_names
from moet_boot.profile.problem import Problem, ProfileError


def problem_of(path: Path) -> Problem:
    with pytest.raises(ProfileError) as caught:
        read_toml(path, path.name)
    (problem,) = caught.value.problems
    assert problem.file == path.name
    assert problem.fix
    return problem


def test_a_file_is_read_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1  # one\n[b]\nc = 'd'\n", encoding="utf-8")
    file = read_toml(path, "mine")
    assert (file.shown, file.tables) == ("mine", {"a": 1, "b": {"c": "d"}})
    assert file.text.startswith("a = 1  # one")


def test_a_missing_file(tmp_path: Path) -> None:
    assert problem_of(tmp_path / "none.toml").what == "no such file or directory"


def test_a_folder(tmp_path: Path) -> None:
    assert problem_of(tmp_path).what == "is a folder"


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "fifo.toml"
    os.mkfifo(path)
    assert problem_of(path).what == "is not a regular file"


def test_a_device() -> None:
    assert problem_of(Path("/dev/zero")).what == "is not a regular file"


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n"], ids=["nothing", "a line", "blanks"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.toml"
    path.write_text(text, encoding="utf-8")
    assert problem_of(path).what == "the file is empty"


def test_a_huge_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert problem_of(path).what == "is 1.00 GiB large, a profile has at most 1.0 MiB"


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text("#" + "x" * (MAX_BYTES - 2) + "\n", encoding="utf-8")
    assert read_toml(path, "large").tables == {}


def test_bytes_that_are_no_text_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'a = 1\nb = "\xe9"\n')
    assert (problem_of(path).what, problem_of(path).line) == ("not UTF-8 text", 2)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = = 2\n", 2), ("[a\n", 1), ("a = 1\na = 2\n", 2), ("x = 1\n\n\ny = [1, 2\nz = 3\n", 5)],
    ids=["two equals", "open header", "twice", "open list"],
)
def test_broken_toml_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    problem = problem_of(path)
    assert problem.what.startswith("not valid TOML: ")
    assert problem.line == line
    assert f"broken.toml:{line}: " in str(problem)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(path, "windows").tables == {"a": 1}


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(f"a = {'9' * 5000}", encoding="utf-8")
    assert "thousands of digits" in problem_of(path).what


def test_nesting_without_end(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 100_000, encoding="utf-8")
    assert problem_of(path).what.startswith("not valid TOML")


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.toml"
    path.write_text("a = 1", encoding="utf-8")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert problem_of(path).what == "permission denied"


def test_a_path_that_no_file_system_takes() -> None:
    assert "null byte" in problem_of(Path("a\0b.toml")).what


@given(content=st.binary(max_size=200))
def test_whatever_is_in_a_file_it_is_tables_or_one_problem(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    try:
        tables = read_toml(path, "any").tables
    except ProfileError:
        return
    assert isinstance(tables, dict)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("spark", False), ("mine.toml", True), ("./mine", True), ("/a/b.toml", True), ("rtx6000-a", False)],
)
def test_what_counts_as_a_path(text: str, expected: bool) -> None:
    assert is_path(text) is expected


def test_a_name_is_a_shipped_file() -> None:
    for name in shipped_names():
        assert locate(name).is_file()


def test_the_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/mine.toml") == tmp_path / "mine.toml"


def test_a_relative_path_counts_from_the_file_that_names_it(tmp_path: Path) -> None:
    assert locate("../base.toml", tmp_path) == tmp_path / ".." / "base.toml"


@pytest.mark.parametrize(
    ("name", "hint"), [("sprak", "spark"), ("rtx6000", "rtx6000-"), ("SPARK", "spark"), ("rtx6000_a", "rtx6000-a")]
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ProfileError) as caught:
        locate(name)
    assert f"did you mean {hint}" in caught.value.fix
    assert "demo, rtx6000-a, rtx6000-b, spark" in caught.value.fix


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(ProfileError, match="'xyzzy': no such profile") as caught:
        locate("xyzzy")
    assert caught.value.fix.startswith("shipped are demo")


def test_in_a_wheel_the_profiles_lie_inside_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "moet_boot"
    (package / "profile").mkdir(parents=True)
    monkeypatch.setattr(files, "__file__", str(package / "profile" / "files.py"))
    assert shipped_folder() == tmp_path / "profiles"
    (package / "shipped_profiles").mkdir()
    assert shipped_folder() == package / "shipped_profiles"
