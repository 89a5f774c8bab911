import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moet_boot.profile.load import load_profile
from moet_boot.profile.model import Profile, Setting
from moet_boot.profile.toml_text import to_toml
from tests.profile.shipped import MTP, VARIANTS, shipped, with_sets


def decided(profile: Profile) -> dict[str, object]:
    """What a profile decides, without the history of how it came to it."""
    content = profile.model_dump(exclude={"variant", "variants", "chosen", "extends"})
    for table in ("env", "flags", "sampling"):
        for setting in content[table].values():
            for key in ("layer", "overrides", "replaced_why"):
                setting.pop(key)
    return content


def saved(profile: Profile, folder: Path) -> Profile:
    path = folder / "saved.toml"
    path.write_text(to_toml(profile), encoding="utf-8")
    return load_profile(str(path))


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_what_is_printed_loads_again_as_the_same_profile(name: str, variant: str | None, tmp_path: Path) -> None:
    profile = shipped(name, variant)
    assert decided(saved(profile, tmp_path)) == decided(profile)


def test_settings_on_top_are_printed_as_the_profiles_own(tmp_path: Path) -> None:
    profile = with_sets("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=4", "VLLM_MOE_W2_GATE=", "port=8001", MTP)
    again = saved(profile, tmp_path)
    assert decided(again) == decided(profile)
    assert again.env["VLLM_MOE_W2_DELTA_GB"].layer == "profile"


def test_it_says_what_it_was_made_from() -> None:
    assert to_toml(shipped("rtx6000-b", "mtp")).startswith("# Resolved from rtx6000-b, variant mtp\n")
    assert to_toml(shipped("demo")).startswith("# Resolved from demo\n")


def test_it_is_the_same_every_time() -> None:
    assert to_toml(load_profile("spark")) == to_toml(load_profile("spark"))


awkward = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20)


@example(name="layer", value="0")
@given(
    name=awkward,
    value=awkward | st.integers(-(2**62), 2**62) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_name_and_any_value_survive(name: str, value: str | float | bool) -> None:
    setting = Setting(value=value, why="w", source="s")
    profile = shipped("demo").model_copy(update={"env": {name: setting}})
    assert tomllib.loads(to_toml(profile))["env"][name]["value"] == value
