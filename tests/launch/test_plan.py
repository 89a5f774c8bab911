import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.launch.plan import build_plan, flag_arguments
from moet_boot.profile.load import load_profile
from moet_boot.profile.resolve import resolve_profile

DIGEST = f"sha256:{3:064x}"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"--enforce-eager": True}, ["--enforce-eager"]),
        ({"--scheduler-reserve-full-isl": False}, ["--no-scheduler-reserve-full-isl"]),
        ({"--max-model-len": 262144}, ["--max-model-len", "262144"]),
        ({"--gpu-memory-utilization": 0.99}, ["--gpu-memory-utilization", "0.99"]),
        ({"--x": 2.0}, ["--x", "2"]),
        ({"--compilation-config": '{"a": [1, 2]}'}, ["--compilation-config", '{"a": [1, 2]}']),
    ],
    ids=["bare", "negated", "integer", "fraction", "whole float", "JSON stays one argument"],
)
def test_flags_as_the_server_takes_them(flags: dict[str, str | int | float | bool], expected: list[str]) -> None:
    assert flag_arguments(flags) == expected


def test_the_demo_starts_a_program_of_this_machine() -> None:
    plan = build_plan(load_profile("demo"), paths={"checkpoint": "/data/tiny"}, engine="/opt/vllm")
    assert plan.runtime == "process"
    assert plan.argv[:3] == ("/opt/vllm", "serve", "/data/tiny")
    assert plan.argv[plan.argv.index("--port") + 1] == str(plan.port) == "8123"
    assert plan.container is None
    assert plan.mounts == ()
    assert plan.url == "http://127.0.0.1:8123"


def test_configuration_a_is_the_published_container() -> None:
    plan = build_plan(load_profile("rtx6000-a"), paths={"checkpoint": "/data/m"})
    assert plan.runtime == "docker"
    assert plan.argv[0] == "/model"
    assert plan.env["VLLM_MOE_W2"] == "1"
    assert plan.env["VLLM_MOE_W2_DELTA_GB"] == "6"
    assert "--no-scheduler-reserve-full-isl" in plan.argv
    assert "--speculative-config" not in plan.argv
    config = json.loads(plan.argv[plan.argv.index("--compilation-config") + 1])
    assert config == {"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ["all"]}
    mounts = {m.target: (m.source, m.read_only) for m in plan.mounts}
    assert mounts["/model"] == ("/data/m", True)
    assert set(mounts) == {"/model", "/planescache", "/store"}
    assert plan.container is not None
    assert (plan.container.image, plan.container.gpus) == ("vllm-moet-sm120:v024", "device=0")


def test_the_guarded_image_of_the_spark_is_started_with_no_arguments() -> None:
    plan = build_plan(load_profile("spark"))
    assert plan.argv == ()
    assert plan.container is not None
    assert plan.container.entrypoint is None
    assert (plan.host, plan.port) == ("127.0.0.1", 8010)
    assert all(m.read_only for m in plan.mounts)


@pytest.mark.parametrize(
    ("name", "variant", "container"),
    [
        ("spark", None, "moet-boot-spark"),
        ("spark", "mtp", "moet-boot-spark-mtp"),
        ("My Spark, grün/2", None, "moet-boot-My-Spark--gr-n-2"),
    ],
)
def test_a_container_has_a_name_that_an_engine_takes(name: str, variant: str | None, container: str) -> None:
    profile = load_profile("spark").model_copy(update={"name": name, "variant": variant})
    plan = build_plan(profile)
    assert plan.container is not None
    assert plan.container.name == container
    assert re.fullmatch("[a-zA-Z0-9][a-zA-Z0-9_.-]+", plan.container.name)


def test_a_program_of_this_machine_is_not_passed_over_in_silence() -> None:
    profile = resolve_profile("spark", sets=["engine=/x/vllm"], env={})
    with pytest.raises(UsageError, match="its image decides which program runs"):
        build_plan(profile)
    with pytest.raises(UsageError, match="its image decides which program runs"):
        build_plan(load_profile("spark"), engine="/x/vllm")
    assert build_plan(profile, runtime="process").argv[0] == "/x/vllm"


def test_a_program_for_all_profiles_is_none_for_a_container() -> None:
    """MOET_BOOT_ENGINE stands in the environment of whoever also runs profiles without one."""
    profile = resolve_profile("spark", sets=[], env={"MOET_BOOT_ENGINE": "/x/vllm"})
    assert build_plan(profile).argv == ()


def test_a_plan_knows_the_pinned_image() -> None:
    plan = build_plan(resolve_profile("spark", sets=[f"image-digest={DIGEST}"], env={}))
    assert plan.container is not None
    assert plan.container.image_digest == DIGEST
    assert plan.digest != build_plan(load_profile("spark")).digest


def test_extra_arguments_come_last() -> None:
    plan = build_plan(load_profile("demo"), engine="v", extra=["--seed", "1"])
    assert plan.argv[-2:] == ("--seed", "1")


def test_in_a_process_the_paths_are_those_of_the_host() -> None:
    plan = build_plan(
        load_profile("rtx6000-a"),
        runtime="process",
        engine="/opt/vllm",
        paths={"checkpoint": "/data/m", "planes_cache": "/data/planes"},
    )
    assert plan.model == "/data/m"
    assert plan.env["VLLM_MOE_W2_PLANES_CACHE"] == "/data/planes"


@pytest.mark.parametrize(
    ("profile", "kwargs", "says"),
    [
        ("demo", {"runtime": "docker"}, "has no container"),
        ("spark", {"runtime": "process"}, "no command for the process runtime"),
        ("spark", {"paths": {"plain": "/x"}}, "has no artefact named 'plain'; it has: checkpoint, plane"),
    ],
    ids=["no container", "no program", "unknown artefact"],
)
def test_a_plan_that_cannot_be_made_says_why(profile: str, kwargs: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        build_plan(load_profile(profile), **kwargs)  # type: ignore[arg-type]


def test_equal_plans_have_equal_digests_and_different_ones_do_not() -> None:
    demo = load_profile("demo")
    assert build_plan(demo, engine="v").digest == build_plan(demo, engine="v").digest
    assert build_plan(demo, engine="v").digest != build_plan(demo, engine="w").digest


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:1"),
        ("::", "http://127.0.0.1:1"),
        ("::1", "http://[::1]:1"),
        ("box", "http://box:1"),
    ],
)
def test_the_url_is_one_that_this_machine_reaches(host: str, url: str) -> None:
    from dataclasses import replace

    assert replace(build_plan(load_profile("demo"), engine="v"), host=host, port=1).url == url


@given(st.lists(st.text(min_size=1), max_size=4))
def test_extra_arguments_are_never_split_or_joined(extra: list[str]) -> None:
    plan = build_plan(load_profile("demo"), engine="v", extra=extra)
    assert list(plan.argv[len(plan.argv) - len(extra) :]) == extra
