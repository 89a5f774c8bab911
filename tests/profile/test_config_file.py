from pathlib import Path

import pytest

from moet_boot.profile.config_file import Config, load_config, read_config
from moet_boot.profile.problem import ProfileError
from moet_boot.profile.resolve import resolve_profile

TEXT = """
schema = "moet-boot/config/v1"
[set]
max-num-seqs = 2
trust-remote-code = true
[path]
checkpoint = "/data/model"
[profiles.demo.set]
max-num-seqs = 3
[profiles.spark.path]
plane_file = "/data/planes"
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def pairs(config: Config, profile: str) -> list[tuple[str, object]]:
    return [(key, value) for _, key, value in config.assignments(profile)]


def test_what_is_for_every_profile_comes_before_what_is_for_one(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    config = load_config({}, [tmp_path])
    common = [("max-num-seqs", 2), ("trust-remote-code", True), ("path.checkpoint", "/data/model")]
    assert pairs(config, "demo") == [*common, ("max-num-seqs", 3)]
    assert pairs(config, "spark") == [*common, ("path.plane_file", "/data/planes")]
    assert pairs(config, "rtx6000-a") == common
    assert {where for where, _, _ in config.assignments("demo")} == {path}


def test_folders_without_a_file_are_nothing(tmp_path: Path) -> None:
    assert load_config({}, [tmp_path / "a", tmp_path / "b"]) == Config()


def test_the_users_file_comes_after_the_machines_and_the_named_one_last(tmp_path: Path) -> None:
    for number, name in enumerate(("etc", "user", "named"), start=1):
        write(tmp_path / name, f"[set]\nseed = {number}\n")
    config = load_config(
        {"MOET_BOOT_CONFIG": str(tmp_path / "named/config.toml")}, [tmp_path / "etc", tmp_path / "user"]
    )
    assert pairs(config, "demo") == [("seed", 1), ("seed", 2), ("seed", 3)]


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no such file"):
        load_config({"MOET_BOOT_CONFIG": str(tmp_path / "none.toml")}, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sett]\na = 1\n", r"config.toml:1: sett: is not a known key"),
        ("\n[profiles.spark]\nsets = 1\n", r"config.toml:3: profiles.spark.sets: is not a known key"),
        ("[set]\nport = [1]\n", r"config.toml:2: set.port: is \[1\]"),
        ("[path]\ncheckpoint = 3\n", r"config.toml:2: path.checkpoint: is 3"),
        ('schema = "moet-boot/config/v2"\n', r"config.toml:1: schema: is .moet-boot/config/v2"),
        ("a = = 1\n", r"config.toml:1: not valid TOML"),
        ("", r"config.toml: the file is empty"),
    ],
)
def test_mistakes_name_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        read_config(write(tmp_path, text))


def test_the_users_own_config_reaches_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = write(tmp_path / "moet-boot", '[profiles.demo.path]\ncheckpoint = "/m"\n[profiles.demo.set]\nseed = 3\n')
    profile = resolve_profile("demo", env={})
    assert profile.artefacts["checkpoint"].path == "/m"
    assert (profile.flags["--seed"].layer, profile.flags["--seed"].source) == ("config", f"config file {path}")
    assert profile.chosen["artefacts.checkpoint.path"].layer == "config"


def test_a_flag_wins_over_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    write(tmp_path / "moet-boot", "[set]\nseed = 3\n")
    profile = resolve_profile("demo", None, ["seed=5"], env={"MOET_BOOT_SET": "seed=4"})
    assert (profile.flag("--seed"), profile.flags["--seed"].overrides) == (5, ("environment=4", "config=3"))
