import json
from typing import Any

import pytest
from pydantic import ValidationError

from moet_boot.profile.config_file import ConfigFile
from moet_boot.profile.model import Profile
from moet_boot.profile.problem import Problem
from moet_boot.profile.validation import explain_errors, known_keys
from tests.profile.shipped import shipped


def problems(**tables: Any) -> list[Problem]:
    raw = shipped("demo").model_dump(mode="json", by_alias=True, exclude_defaults=True) | tables
    raw = {key: value for key, value in raw.items() if value is not ...}
    with pytest.raises(ValidationError) as caught:
        Profile.model_validate_json(json.dumps(raw), strict=True)
    return explain_errors(caught.value, raw)


@pytest.mark.parametrize(
    ("location", "some"),
    [
        ((), {"schema", "hardware", "env", "deadlines"}),
        (("hardware",), {"memory", "architectures", "gpu", "why"}),
        (("hardware", "gpu"), {"names", "compute_capability"}),
        (("env", "ANY"), {"value", "absent", "why", "source", "measured"}),
        (("memory", "terms", "x"), {"gib", "pool", "first", "last"}),
        (("container",), {"image", "pass_arguments"}),
        (("restart",), {"budget", "window_s"}),
    ],
    ids=lambda value: ".".join(sorted(value) if isinstance(value, set) else value),
)
def test_the_keys_that_are_known_at_a_place(location: tuple[str, ...], some: set[str]) -> None:
    assert some <= set(known_keys(location))


@pytest.mark.parametrize("location", [("nothing",), ("hardware", "nothing"), ("title",), ("title", "deeper")], ids=str)
def test_where_nothing_is_known_nothing_is_said(location: tuple[str, ...]) -> None:
    assert known_keys(location) == [] or "value" not in known_keys(location)


def test_another_model_has_other_keys() -> None:
    assert set(known_keys(("profiles", "spark"), ConfigFile)) == {"set", "path"}


def test_one_problem_for_a_value_of_no_kind_that_is_allowed() -> None:
    found = problems(env={"X": {"value": [1, 2], "why": "w", "source": "s"}})
    assert [(p.key, p.what) for p in found] == [("env.X.value", "is [1, 2], but input should be a valid string")]


def test_a_long_value_is_cut() -> None:
    (found,) = problems(hardware={"memory": "x" * 500, "architectures": ["a"], "why": "w", "source": "s"})
    assert len(found.what) < 200
    assert "x..." in found.what


def test_the_nearest_of_some_choices() -> None:
    (found,) = problems(hardware={"memory": "unifed", "architectures": ["a"], "why": "w", "source": "s"})
    assert found.fix == "did you mean unified?"


def test_an_item_of_a_list_is_numbered() -> None:
    (found,) = problems(hardware={"memory": "host", "architectures": ["a", 3], "why": "w", "source": "s"})
    assert found.key == "hardware.architectures.1"


def test_a_table_that_is_no_table() -> None:
    assert [p.key for p in problems(engine=3)] == ["engine"]


def test_missing_tables() -> None:
    assert [(p.key, p.what) for p in problems(guard=...)] == [("guard", "is missing")]
