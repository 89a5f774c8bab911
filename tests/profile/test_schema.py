import json
import tomllib
from typing import Any

import jsonschema
import pytest

from moet_boot.profile.files import shipped_folder, shipped_names
from moet_boot.profile.schema import profile_schema
from moet_boot.profile.toml_text import to_toml
from tests.profile.shipped import VARIANTS, shipped


def complaints(tables: dict[str, Any]) -> list[str]:
    validator = jsonschema.Draft202012Validator(profile_schema())
    return [error.message for error in validator.iter_errors(tables)]


def test_it_is_a_schema() -> None:
    meta = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    assert [error.message for error in meta.iter_errors(profile_schema())] == []


def test_the_shipped_file_is_this_schema() -> None:
    """When it fails: moet-boot profiles schema > profiles/profile.schema.json"""
    text = (shipped_folder() / "profile.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == profile_schema()


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_files_follow_it_and_say_where_it_is(name: str) -> None:
    text = (shipped_folder() / f"{name}.toml").read_text(encoding="utf-8")
    assert text.startswith("#:schema ./profile.schema.json\n")
    assert complaints(tomllib.loads(text)) == []


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_what_show_prints_follows_it(name: str, variant: str | None) -> None:
    assert complaints(tomllib.loads(to_toml(shipped(name, variant)))) == []


@pytest.mark.parametrize(
    "tables",
    [
        {"extends": "spark"},
        {"extends": "spark", "env": {"X": {"value": 1}}},
        {"extends": "spark", "memory": {"terms": {"planes": {"gib": 1}}}, "guard": {"hard_floor_gib": 9}},
        {"extends": "spark", "variant": {"x": {"summary": "s", "engine": {"port": 1}}}},
    ],
    ids=["nothing", "a setting", "parts of tables", "a variant"],
)
def test_a_file_that_extends_another_may_say_parts(tables: dict[str, Any]) -> None:
    assert complaints(tables) == []


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "'hardware' is a required property"),
        ({"extends": "spark", "engnie": {}}, "'engnie' was unexpected"),
        ({"extends": "spark", "engine": {"prot": 1}}, "'prot' was unexpected"),
        ({"extends": "spark", "engine": {"port": 70000}}, "70000 is greater than the maximum of 65535"),
        ({"extends": "spark", "env": {"X": {"value": 1, "layer": "flag"}}}, "'layer' was unexpected"),
        ({"extends": "spark", "chosen": {}}, "'chosen' was unexpected"),
        ({"extends": "spark", "variants": {}}, "'variants' was unexpected"),
        ({"extends": "spark", "variant": {"x": {}}}, "'summary' is a required property"),
        ({"extends": "spark", "variant": {"x": {"summary": "s", "name": "n"}}}, "'name' was unexpected"),
        ({"extends": "spark", "deadlines": {"lading": {"seconds": 1}}}, "'lading'"),
    ],
)
def test_what_the_loader_refuses_the_schema_refuses(tables: dict[str, Any], message: str) -> None:
    assert any(message in complaint for complaint in complaints(tables)), complaints(tables)
