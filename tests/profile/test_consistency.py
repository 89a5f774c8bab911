import pytest

from moet_boot.profile.consistency import inconsistencies
from moet_boot.profile.model import Mount, Profile, Setting
from tests.profile.shipped import VARIANTS, shipped


def changed(**update: object) -> Profile:
    return shipped("rtx6000-a").model_copy(update=update)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_shipped_profiles_do_not_contradict_themselves(name: str, variant: str | None) -> None:
    assert inconsistencies(shipped(name, variant)) == []


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        (Setting(why="w", source="s"), "has no value"),
        (Setting(value=1, absent=True, why="w", source="s"), "has a value and is absent"),
    ],
)
def test_a_setting_has_a_value_or_is_absent(setting: Setting, what: str) -> None:
    for table, key in (("env", "X"), ("flags", "--x")):
        (problem,) = inconsistencies(changed(**{table: {key: setting}}))
        assert (problem.key, problem.what) == (f"{table}.{key}", what)


def test_a_flag_has_its_dashes() -> None:
    (problem,) = inconsistencies(changed(flags={"max-num-seqs": Setting(value=1, why="w", source="s")}))
    assert problem.fix == 'write "--max-num-seqs"'


def test_a_mount_names_an_artefact() -> None:
    mounts = {"x": Mount(artefact="chekpoint", target="/x", why="w", source="s")}
    (problem,) = inconsistencies(changed(mounts=mounts))
    assert problem.fix == "known: checkpoint, planes_cache, pack_store"


@pytest.mark.parametrize(
    ("flag", "field"), [("--port", "port"), ("--host", "host"), ("--served-model-name", "served_name")]
)
def test_what_is_said_twice_must_be_said_alike(flag: str, field: str) -> None:
    profile = shipped("rtx6000-a")
    flags = {**profile.flags, flag: Setting(value=1234, why="w", source="s")}
    (problem,) = inconsistencies(changed(flags=flags))
    assert (problem.key, problem.against) == (f"flags.{flag}", f"engine.{field}")
    assert repr(getattr(profile.engine, field)) in problem.what


def test_a_flag_that_is_left_out_contradicts_nothing() -> None:
    flags = {**shipped("rtx6000-a").flags, "--port": Setting(absent=True, why="w", source="s")}
    assert inconsistencies(changed(flags=flags)) == []


def test_a_container_runtime_needs_a_container() -> None:
    (problem,) = inconsistencies(changed(container=None))
    assert problem.key == "container"


def test_a_process_runtime_needs_a_program() -> None:
    engine = shipped("demo").engine.model_copy(update={"command": ()})
    (problem,) = inconsistencies(shipped("demo").model_copy(update={"engine": engine}))
    assert problem.key == "engine.command"
