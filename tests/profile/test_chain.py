from pathlib import Path

import pytest

from moet_boot.profile.chain import Chain, attribute, merged, read_chain
from moet_boot.profile.problem import Problem, ProfileError


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    write(tmp_path, "base.toml", 'extends = "demo"\n\n[engine]\nport = 1\nhost = "a"\n[variant.x.engine]\nport = 2\n')
    return read_chain(write(tmp_path, "mine.toml", 'extends = "base.toml"\n[engine]\nport = 3\n[env.A]\nvalue = 1\n'))


def test_the_file_comes_first_and_what_it_extends_after_it(chain: Chain) -> None:
    assert [file.tables["name"] for file in chain] == ["mine", "base", "demo"]
    assert chain[-1].shown == "demo.toml"


def test_a_file_without_a_name_has_its_own(tmp_path: Path) -> None:
    (file,) = read_chain(write(tmp_path, "some.thing.toml", "a = 1\n"))
    assert file.tables["name"] == "some.thing"


def test_the_upper_file_wins(chain: Chain) -> None:
    tables = merged(chain)
    assert (tables["engine"]["port"], tables["engine"]["host"]) == (3, "a")
    assert tables["title"] == chain[-1].tables["title"]


def test_laying_them_over_each_other_changes_none(chain: Chain) -> None:
    before = [repr(file.tables) for file in chain]
    assert merged(chain) == merged(chain)
    assert [repr(file.tables) for file in chain] == before


@pytest.mark.parametrize(
    ("key", "variant", "file", "line"),
    [
        ("engine.port", None, "mine.toml", 3),
        ("engine.host", None, "base.toml", 5),
        ("engine.port", "x", "base.toml", 7),
        ("env.A.why", None, "mine.toml", 4),
        ("engine", None, "mine.toml", 2),
        ("nothing.at.all", None, "mine.toml", None),
        ("", None, "mine.toml", None),
    ],
)
def test_whose_problem_it_is(chain: Chain, key: str, variant: str | None, file: str, line: int | None) -> None:
    (found,) = attribute([Problem("", key, "is wrong", "mend it")], chain, variant)
    assert (Path(found.file).name, found.line, found.fix) == (file, line, "mend it")


def test_of_two_keys_that_contradict_each_other_the_nearer_one_is_shown(chain: Chain) -> None:
    problem = Problem("", "flags.--port", "is 8123, but engine.port is 3", against="engine.port")
    (found,) = attribute([problem], chain, None)
    assert (Path(found.file).name, found.line) == ("mine.toml", 3)


def test_a_path_counts_from_the_folder_of_the_file_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, "base.toml", 'extends = "demo"\n')
    path = write(tmp_path, "deep/mine.toml", 'extends = "../base.toml"\n')
    assert [file.tables["name"] for file in read_chain(path)] == ["mine", "base", "demo"]


def test_the_same_file_under_two_names_is_a_circle(tmp_path: Path) -> None:
    (tmp_path / "other.toml").symlink_to(tmp_path / "mine.toml")
    path = write(tmp_path, "mine.toml", 'extends = "other.toml"\n')
    with pytest.raises(ProfileError, match=r"goes round in a circle: mine.toml -> mine.toml"):
        read_chain(path)


def test_symbolic_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.toml").symlink_to(tmp_path / "b.toml")
    (tmp_path / "b.toml").symlink_to(tmp_path / "a.toml")
    with pytest.raises(ProfileError, match="too many levels of symbolic links"):
        read_chain(str(tmp_path / "a.toml"))


@pytest.mark.parametrize("path", ["~nobody-by-this-name/mine.toml", "a\0b.toml"], ids=ascii)
def test_paths_that_cannot_be(path: str) -> None:
    with pytest.raises(ProfileError):
        read_chain(path)


@pytest.mark.parametrize("parent", ["a\\u0000b.toml", "~nobody-by-this-name/base.toml"])
def test_paths_that_cannot_be_extended(tmp_path: Path, parent: str) -> None:
    with pytest.raises(ProfileError, match=r"mine.toml:1: extends: is"):
        read_chain(write(tmp_path, "mine.toml", f'extends = "{parent}"\n'))


def test_a_long_chain_is_no_circle(tmp_path: Path) -> None:
    write(tmp_path, "p0.toml", 'extends = "demo"\n')
    for number in range(1, 30):
        write(tmp_path, f"p{number}.toml", f'extends = "p{number - 1}.toml"\n')
    assert len(read_chain(str(tmp_path / "p29.toml"))) == 31


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("variants = {}\nchosen = {}\n", ["variants", "chosen"]),
        ("[flags.'--x']\nlayer = 'flag'\n", ["flags.--x.layer"]),
        ("[sampling.min_p]\nreplaced_why = 'x'\n", ["sampling.min_p.replaced_why"]),
        ("[variant.m.env.A]\noverrides = []\nlayer = 'x'\n", ["variant.m.env.A.layer", "variant.m.env.A.overrides"]),
    ],
)
def test_what_the_resolver_fills_is_refused_with_its_line(tmp_path: Path, text: str, keys: list[str]) -> None:
    with pytest.raises(ProfileError) as caught:
        read_chain(write(tmp_path, "mine.toml", text))
    assert [problem.key for problem in caught.value.problems] == keys
    assert all(problem.line for problem in caught.value.problems)
