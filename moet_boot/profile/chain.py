"""A profile file and those that it extends, and which of them says what."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from moet_boot.profile.files import Raw, TomlFile, is_path, locate, read_toml
from moet_boot.profile.key_lines import line_of
from moet_boot.profile.merge import SETTING_TABLES, merge_profiles
from moet_boot.profile.problem import Problem, ProfileError

_RESOLVED = ("variants", "chosen")
_RESOLVED_SETTING = ("layer", "overrides", "replaced_why")

Chain = tuple[TomlFile, ...]
"""The file itself first, what it extends after it."""


def read_chain(name_or_path: str) -> Chain:
    """Read a profile and everything below it; raises ProfileError, for a circle too."""
    files: list[TomlFile] = []
    seen: list[Path] = []
    path, parent = locate(name_or_path), name_or_path
    while True:
        shown = str(path) if is_path(parent) else path.name
        _refuse_circle(path, seen, files)
        file = read_toml(path, shown)
        _refuse_resolved_keys(file)
        file.tables.setdefault("name", path.stem)
        files.append(file)
        if "extends" not in file.tables:
            return tuple(files)
        parent = _parent(file)
        path = _locate_parent(parent, path, file)


def merged(chain: Chain) -> Raw:
    """The tables of the whole chain, each file laid over the one that it extends."""
    *over, base = chain
    tables = base.tables
    for file in reversed(over):
        tables = _extend(tables, file)
    return dict(tables)


def attribute(problems: Sequence[Problem], chain: Chain, variant: str | None) -> list[Problem]:
    """The problems with the file and line that says what is wrong: the one nearest to the person."""
    return [_attribute(problem, chain, variant) for problem in problems]


def _attribute(problem: Problem, chain: Chain, variant: str | None) -> Problem:
    keys = [key for key in (problem.against, problem.key) if key]
    found = [place for key in keys if (place := _place(tuple(key.split(".")), chain, variant))]
    if not found:
        return replace(problem, file=chain[0].shown)
    depth, line = min(found, key=lambda place: place[0])
    return replace(problem, file=chain[depth].shown, line=line)


def _place(location: tuple[str, ...], chain: Chain, variant: str | None) -> tuple[int, int | None] | None:
    """How far down the chain the key is said, and on which line; for a missing key its table counts."""
    for length in range(len(location), 0, -1):
        wanted = location[:length]
        for place in [("variant", variant, *wanted), wanted] if variant else [wanted]:
            for depth, file in enumerate(chain):
                if _has(file.tables, place):
                    return depth, line_of(file.text, place)
    return None


def _has(tables: object, location: tuple[str, ...]) -> bool:
    for part in location:
        if not isinstance(tables, Mapping) or part not in tables:
            return False
        tables = tables[part]
    return True


def _refuse_circle(path: Path, seen: list[Path], files: Sequence[TomlFile]) -> None:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return  # a circle of symbolic links and the like: reading it says what is wrong
    if real in seen:
        circle = " -> ".join(p.name for p in (*seen[seen.index(real) :], real))
        fix = "let one of them extend a shipped profile, or nothing"
        raise _extends_problem(files[-1], f"goes round in a circle: {circle}", fix)
    seen.append(real)


def _parent(file: TomlFile) -> str:
    parent = file.tables["extends"]
    if not isinstance(parent, str) or not parent:
        raise _extends_problem(file, f"is {parent!r}, expected the name of a profile", 'such as extends = "spark"')
    return parent


def _locate_parent(parent: str, child: Path, file: TomlFile) -> Path:
    """The file that is extended; a relative path counts from the folder of the child."""
    try:
        path = locate(parent, child.parent)
        path.stat()
    except ProfileError as error:
        raise _extends_problem(file, f"is {parent!r}: {error.problems[0].what}", error.fix) from None
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise _extends_problem(file, f"is {parent!r}: {reason}", "give the name of a profile, or a path") from None
    return path


def _extends_problem(file: TomlFile, what: str, fix: str) -> ProfileError:
    return ProfileError([Problem(file.shown, "extends", what, fix, line_of(file.text, ("extends",)))])


def _extend(below: Raw, file: TomlFile) -> Raw:
    under = str(below.get("name"))
    tables = merge_profiles(below, file.tables, under_name=under, over_name=file.shown, layer="profile")
    variants, ours = below.get("variant", {}), file.tables.get("variant", {})
    if isinstance(variants, dict) and isinstance(ours, dict):
        tables["variant"] = variants | {
            name: _extend_variant(variants.get(name, {}), table, under, file.shown) for name, table in ours.items()
        }
    return tables


def _extend_variant(below: object, over: object, under: str, shown: str) -> object:
    if not isinstance(below, dict) or not isinstance(over, dict):
        return over
    return merge_profiles(below, over, under_name=under, over_name=shown, layer="variant")


def _refuse_resolved_keys(file: TomlFile) -> None:
    """Keys that the resolver fills must not come from a file: they would claim what did not happen."""
    found: list[tuple[str, ...]] = [(key,) for key in _RESOLVED if key in file.tables]
    places = [((), file.tables), *((("variant", n), t) for n, t in _tables(file.tables.get("variant")))]
    for place, tables in places:
        for kind in SETTING_TABLES:
            for name, setting in _tables(tables.get(kind)):
                found += [(*place, kind, name, key) for key in _RESOLVED_SETTING if key in setting]
    if found:
        what, fix = "is filled by moet-boot, not by files", "remove it"
        raise ProfileError([Problem(file.shown, ".".join(key), what, fix, line_of(file.text, key)) for key in found])


def _tables(value: object) -> list[tuple[str, Raw]]:
    return [(n, t) for n, t in value.items() if isinstance(t, dict)] if isinstance(value, dict) else []
