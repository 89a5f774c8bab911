import pytest
from pydantic import ValidationError

from moet_boot.profile.model import (
    Acceptance,
    Curve,
    Deadline,
    Engine,
    MemoryTerm,
    Profile,
    Restart,
    Setting,
    SettingValue,
    as_text,
)
from tests.profile.shipped import VARIANTS, shipped

REASON = {"why": "w", "source": "s"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "1"),
        (False, "0"),
        (6, "6"),
        (6.0, "6"),
        (0.95, "0.95"),
        (5.5, "5.5"),
        ("auto", "auto"),
        ("", ""),
        (-1, "-1"),
        (2**40, "1099511627776"),
    ],
)
def test_a_value_as_the_server_reads_it(value: SettingValue, text: str) -> None:
    assert as_text(value) == text


def test_a_flag_that_is_unset_absent_or_set() -> None:
    profile = shipped("rtx6000-a")
    assert profile.flag("--max-num-seqs") == 1
    assert profile.flag("--speculative-config") is None
    assert profile.flag("--no-such-flag") is None


def test_the_environment_has_no_absent_names() -> None:
    profile = shipped("demo")
    env = {**profile.env, "GONE": Setting.model_validate({"absent": True, **REASON})}
    assert "GONE" not in profile.model_copy(update={"env": env}).env_values()


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_profile_survives_json(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    assert Profile.model_validate_json(profile.model_dump_json(by_alias=True)) == profile


def test_a_profile_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        shipped("demo").engine.port = 1  # type: ignore[misc]


@pytest.mark.parametrize("missing", ["why", "source"])
def test_a_decision_without_a_reason_is_none(missing: str) -> None:
    reason = {key: text for key, text in REASON.items() if key != missing}
    with pytest.raises(ValidationError, match=missing):
        Setting.model_validate({"value": 1, **reason})
    with pytest.raises(ValidationError, match=missing):
        Setting.model_validate({"value": 1, **reason, missing: ""})


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (MemoryTerm, {"gib": -1, "pool": "gpu", "first": "starting"}),
        (MemoryTerm, {"gib": float("nan"), "pool": "gpu", "first": "starting"}),
        (MemoryTerm, {"gib": 1, "pool": "disk", "first": "starting"}),
        (MemoryTerm, {"gib": 1, "pool": "gpu", "first": "soon"}),
        (Deadline, {"seconds": 0}),
        (Deadline, {"seconds": -1}),
        (Deadline, {"seconds": float("inf")}),
        (Restart, {"budget": -1}),
        (Restart, {"backoff_s": -1}),
        (Curve, {"x_unit": "x", "y_unit": "y", "points": []}),
        (Engine, {"runtime": "process", "model": "m", "served_name": "n", "port": 0}),
        (Engine, {"runtime": "rocket", "model": "m", "served_name": "n", "port": 1}),
        (Acceptance, {"value": 1, "unit": "u", "extra": 1}),
    ],
)
def test_values_that_mean_nothing(model: type[Setting], values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate({**values, **REASON})


@pytest.mark.parametrize("points", [[[2, 1], [1, 1]], [[1, 1], [1, 2]]], ids=["falling", "twice"])
def test_a_curve_rises_along_x(points: list[list[float]]) -> None:
    with pytest.raises(ValidationError, match="rising"):
        Curve.model_validate({"x_unit": "x", "y_unit": "y", "points": points, **REASON})
