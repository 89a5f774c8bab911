import pytest

from moet_boot.errors import UsageError
from moet_boot.profile.assignment import Assignment, lay_over, parse_assignment, words, words_of
from moet_boot.profile.model import Setting, SettingValue

OLD = Setting(value=6, why="because", source="a page", measured="fast", layer="profile")


def given(text: str, layer: str = "flag", origin: str = "--set") -> Assignment:
    return parse_assignment(text, layer, origin)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("A=1", "A", "1"),
        (" A = 1 ", "A", "1"),
        ("a=b=c", "a", "b=c"),
        ("--x=", "--x", ""),
        ('c={"a": 1}', "c", '{"a": 1}'),
    ],
)
def test_key_and_value(text: str, key: str, value: str) -> None:
    found = given(text)
    assert (found.key, found.text) == (key, value)


@pytest.mark.parametrize("text", ["A=a\0b", "A\0=1", "A=\udcff"], ids=ascii)
def test_what_no_process_can_be_given(text: str) -> None:
    with pytest.raises(UsageError, match="expected text in UTF-8 without NUL bytes") as caught:
        given(text)
    caught.value.what.encode()


@pytest.mark.parametrize("text", ["A", "", "=", "=1", "  =1"])
def test_what_is_no_assignment(text: str) -> None:
    with pytest.raises(UsageError, match="expected KEY=VALUE") as caught:
        given(text)
    assert "such as" in caught.value.fix


def test_a_refusal_is_one_line_of_bearable_length() -> None:
    refusal = given("A=a\nb\x1b[31m" + "x" * 500).refuse("expected a number", "give one")
    assert refusal.what.startswith("--set A=a\\nb\\x1b[31mxxx")
    assert refusal.what.endswith("...: expected a number")
    assert len(refusal.what) < 130


@pytest.mark.parametrize(("text", "removes"), [("A=", True), ("A=null", True), ("A=0", False), ("A=None", False)])
def test_nothing_and_null_remove(text: str, removes: bool) -> None:
    assert given(text).removes is removes


def test_a_new_value_keeps_the_old_reason_apart() -> None:
    new = lay_over(OLD, 7, given("A=7"))
    assert (new.value, new.layer, new.overrides) == (7, "flag", ("profile=6",))
    assert (new.why, new.source, new.measured) == ("chosen by --set", "--set", None)
    assert new.replaced_why == "because"


def test_through_several_layers_the_profiles_reason_stays() -> None:
    environment = lay_over(OLD, 7, given("A=7", "environment", "MOET_BOOT_SET"))
    flag = lay_over(environment, 8, given("A=8"))
    assert flag.overrides == ("environment=7", "profile=6")
    assert flag.replaced_why == "because"


def test_the_same_value_keeps_its_reason_and_figure() -> None:
    same = lay_over(OLD, 6, given("A=6"))
    assert (same.why, same.measured, same.layer, same.overrides) == ("because", "fast", "flag", ("profile=6",))


def test_a_setting_that_the_profile_does_not_have() -> None:
    new = lay_over(None, "x", given("A=x"))
    assert (new.value, new.overrides, new.replaced_why) == ("x", (), None)


def test_removing_and_bringing_back() -> None:
    gone = lay_over(OLD, None, given("A="))
    assert (gone.absent, gone.value) == (True, None)
    back = lay_over(gone, 6, given("A=6"))
    assert (back.absent, back.value, back.overrides) == (False, 6, ("flag=absent", "profile=6"))


def test_one_and_true_are_not_the_same() -> None:
    switch = Setting(value=True, why="w", source="s")
    assert lay_over(switch, 1, given("A=1")).overrides == ("profile=true",)
    assert lay_over(switch, 1, given("A=1")).value == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "absent"), (True, "true"), (False, "false"), (6, "6"), (6.0, "6"), (0.95, "0.95"), ("a", "a")],
)
def test_values_in_words(value: SettingValue | None, text: str) -> None:
    assert words_of(value) == text


def test_an_absent_setting_in_words() -> None:
    assert words(Setting(absent=True, why="w", source="s")) == "absent"
