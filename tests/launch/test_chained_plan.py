from pathlib import Path

import pytest

from moet_boot.errors import UsageError
from moet_boot.launch.chained_plan import Chain, chained_plan
from moet_boot.launch.plan import build_plan
from moet_boot.profile.load import load_profile
from moet_boot.profile.resolve import resolve_profile

VLLM = Chain(("vllm", "serve"), ("--help",))
GUARDED = Chain(("/entrypoint.sh",), ("serve",))


def test_a_profile_that_passes_arguments_gives_them_to_the_images_entrypoint() -> None:
    profile = load_profile("rtx6000-a")
    outside = build_plan(profile)
    plan = chained_plan(profile, VLLM, extra=("--seed", "7"))
    assert plan.argv == ("vllm", "serve", *outside.argv, "--seed", "7")
    assert plan.env == outside.env
    assert (plan.runtime, plan.container, plan.mounts) == ("process", None, ())
    assert (plan.model, plan.served_name, plan.port) == (outside.model, outside.served_name, outside.port)


def test_artefacts_lie_where_the_profile_mounts_them() -> None:
    plan = chained_plan(load_profile("rtx6000-a"), VLLM)
    assert plan.paths == {"checkpoint": "/model", "planes_cache": "/planescache", "pack_store": "/store"}


@pytest.mark.parametrize("how", ["argument", "setting"])
def test_artefacts_may_be_moved(how: str) -> None:
    sets = ["path.checkpoint=/data/m"] if how == "setting" else []
    profile = resolve_profile("rtx6000-a", None, sets, env={})
    plan = chained_plan(profile, VLLM, paths={"checkpoint": "/data/m"} if how == "argument" else {})
    assert plan.paths["checkpoint"] == "/data/m"
    assert plan.paths["planes_cache"] == "/planescache"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [((), ("/entrypoint.sh", "serve")), (("check", "-v"), ("/entrypoint.sh", "check", "-v"))],
    ids=["the image's own command", "arguments replace it, as in docker run"],
)
def test_a_guarded_image_is_started_as_it_would_start_itself(extra: tuple[str, ...], expected: tuple[str, ...]) -> None:
    plan = chained_plan(load_profile("spark"), GUARDED, extra=extra)
    assert plan.argv == expected
    assert plan.paths["plane_file"] == "/workspace/models/ds4-planes.moet2pf"


def test_an_image_with_only_a_command() -> None:
    assert chained_plan(load_profile("spark"), Chain((), ("/run.sh", "a"))).argv == ("/run.sh", "a")


def test_nothing_to_start_is_an_error() -> None:
    with pytest.raises(UsageError, match="nothing says what to start") as caught:
        chained_plan(load_profile("spark"), Chain())
    assert "scripts/build_image" in caught.value.fix


def test_a_profile_for_a_process_gets_the_images_program() -> None:
    plan = chained_plan(load_profile("demo"), VLLM, paths={"checkpoint": "/model"})
    assert plan.argv[:3] == ("vllm", "serve", "/model")
    assert "--enforce-eager" in plan.argv
    assert plan.paths == {"checkpoint": "/model"}


def test_without_an_entrypoint_below_the_profiles_own_program_runs() -> None:
    plan = chained_plan(load_profile("demo"), Chain())
    assert plan.argv[:2] == load_profile("demo").engine.command


def test_a_program_that_a_person_names_wins() -> None:
    profile = resolve_profile("rtx6000-a", None, [], env={"MOET_BOOT_ENGINE": "/opt/vllm"})
    assert chained_plan(profile, VLLM).argv[:2] == ("/opt/vllm", "serve")


def test_an_entrypoint_that_the_profile_sets_wins_over_the_images(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'schema = "moet-boot/profile/v1"\nextends = "rtx6000-b"\n[container]\nentrypoint = ["python3", "-m", "server"]\n'
    )
    plan = chained_plan(load_profile(str(path)), VLLM)
    assert plan.argv[:4] == ("python3", "-m", "server", "/model")
