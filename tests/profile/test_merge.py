from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile.merge import describe, merge_profiles

OLD = {"value": 6, "why": "because", "source": "a page", "measured": "fast"}


def over(base: dict[str, Any], changes: dict[str, Any], layer: str = "profile") -> dict[str, Any]:
    return merge_profiles(base, changes, under_name="spark", over_name="mine.toml", layer=layer)


def test_tables_merge_and_values_replace() -> None:
    base = {"engine": {"port": 1, "host": "a"}, "title": "old", "list": [1, 2]}
    assert over(base, {"engine": {"port": 2}, "title": "new", "list": [3]}) == {
        "engine": {"port": 2, "host": "a"},
        "title": "new",
        "list": [3],
    }


def test_the_base_is_left_alone() -> None:
    base = {"env": {"X": dict(OLD)}, "engine": {"port": 1}}
    over(base, {"env": {"X": {"value": 7}}, "engine": {"port": 2}})
    assert base == {"env": {"X": OLD}, "engine": {"port": 1}}


def test_another_value_leaves_the_reason_and_the_figure_of_the_old_one_behind() -> None:
    assert over({"env": {"X": OLD}}, {"env": {"X": {"value": 7}}})["env"]["X"] == {
        "value": 7,
        "why": "no reason given in mine.toml",
        "source": "mine.toml",
        "layer": "profile",
        "overrides": ["spark=6"],
    }


def test_a_reason_that_is_given_stays() -> None:
    merged = over({"env": {"X": OLD}}, {"env": {"X": {"value": 7, "why": "my own", "source": "measured here"}}})
    assert (merged["env"]["X"]["why"], merged["env"]["X"]["source"]) == ("my own", "measured here")
    assert "measured" not in merged["env"]["X"]


def test_only_another_reason_keeps_the_value() -> None:
    assert over({"flags": {"--x": OLD}}, {"flags": {"--x": {"why": "better"}}})["flags"]["--x"] == {
        **OLD,
        "why": "better",
    }


def test_absence_replaces_a_value_and_a_value_absence() -> None:
    gone = over({"env": {"X": OLD}}, {"env": {"X": {"absent": True, "why": "w", "source": "s"}}})["env"]["X"]
    assert "value" not in gone
    assert (gone["absent"], gone["overrides"]) == (True, ["spark=6"])
    back = over({"env": {"X": gone}}, {"env": {"X": {"value": 1}}})["env"]["X"]
    assert "absent" not in back
    assert (back["value"], back["overrides"]) == (1, ["spark=absent", "spark=6"])


def test_a_new_setting_gets_the_layer_and_nothing_else() -> None:
    assert over({}, {"env": {"X": {"value": 1}}}, layer="variant") == {"env": {"X": {"value": 1, "layer": "variant"}}}


def test_client_advice_is_a_setting_too() -> None:
    old = {**OLD, "banned": [0.0]}
    merged = over({"sampling": {"min_p": old}}, {"sampling": {"min_p": {"absent": True}}})
    assert merged["sampling"]["min_p"]["banned"] == [0.0]
    assert merged["sampling"]["min_p"]["overrides"] == ["spark=6"]


@pytest.mark.parametrize("table", ["env", "flags", "sampling"])
@pytest.mark.parametrize("wrong", [3, "text", [1], {"X": 3}], ids=str)
def test_what_is_no_setting_is_left_for_the_model_to_refuse(table: str, wrong: object) -> None:
    assert over({table: {"X": OLD}}, {table: wrong})[table] == (wrong if not isinstance(wrong, dict) else {"X": 3})


@pytest.mark.parametrize(
    ("setting", "words"), [({"value": 1}, "1"), ({"value": "a"}, "a"), ({"absent": True}, "absent"), ({}, "absent")]
)
def test_a_raw_setting_in_words(setting: dict[str, Any], words: str) -> None:
    assert describe(setting) == words


scalars = st.integers() | st.booleans() | st.text(max_size=5)
tables = st.recursive(scalars, lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3), max_leaves=8)
roots = st.dictionaries(st.sampled_from("abcd"), tables, max_size=4)


@given(base=roots, changes=roots)
def test_every_value_of_the_upper_file_is_in_the_result(base: dict[str, Any], changes: dict[str, Any]) -> None:
    def holds(merged: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict):
            return isinstance(merged, dict) and all(k in merged and holds(merged[k], v) for k, v in wanted.items())
        return bool(merged == wanted)

    assert holds(over(base, changes), changes)


@given(base=roots)
def test_nothing_laid_over_changes_nothing(base: dict[str, Any]) -> None:
    assert over(base, {}) == base


@given(base=roots)
def test_a_file_laid_over_itself_is_itself(base: dict[str, Any]) -> None:
    assert over(base, base) == base
