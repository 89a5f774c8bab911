from dataclasses import replace

import pytest

from moet_boot import __version__
from moet_boot.errors import UsageError
from moet_boot.launch.container_request import LOG_FILE_BYTES, LOG_FILES, container_request
from moet_boot.launch.plan import PlannedMount, build_plan
from moet_boot.machine.container_labels import is_ours
from moet_boot.machine.snapshot import Docker
from moet_boot.profile.load import load_profile
from moet_boot.units import MIB
from testing.container_plans import container_plan

ENGINE = Docker(present=True, runtimes=["nvidia"])


def test_every_part_of_the_plan_arrives() -> None:
    mounts = (PlannedMount("m", "/data", "/model", read_only=True),)
    plan = container_plan("serve", "/model", env={"A": "1"}, mounts=mounts, shm_bytes=5, gpus="device=0")
    request = container_request(plan, ENGINE)
    assert plan.container is not None
    assert (request.image, request.name) == (plan.container.image, plan.container.name)
    assert (request.command, request.env, request.mounts) == (("serve", "/model"), {"A": "1"}, mounts)
    assert (request.network, request.ipc, request.shm_bytes, request.ports) == ("host", "host", 5, ())
    assert request.gpus is not None
    assert request.gpus.ids == ("0",)


def test_nothing_restarts_it_and_nothing_widens_its_rights() -> None:
    request = container_request(container_plan(), ENGINE)
    assert request.restart == "no"
    assert request.security == ("no-new-privileges",)
    assert request.core_bytes == 0
    assert request.oom_score_adj == 800


def test_the_engines_copy_of_the_log_is_bounded() -> None:
    options = container_request(container_plan(), ENGINE).log_options
    assert options == {"max-size": str(LOG_FILE_BYTES), "max-file": str(LOG_FILES)}
    assert LOG_FILE_BYTES * LOG_FILES == 256 * MIB


@pytest.mark.parametrize(
    ("entrypoint", "expected"),
    [
        (None, (None, ("a",))),
        ((), (None, ("a",))),
        (("serve",), ("serve", ("a",))),
        (("python3", "-m", "s"), ("python3", ("-m", "s", "a"))),
    ],
    ids=["the image's own", "empty is the image's own", "one word", "three words"],
)
def test_the_entrypoint(entrypoint: tuple[str, ...] | None, expected: tuple[str | None, tuple[str, ...]]) -> None:
    request = container_request(container_plan("a", entrypoint=entrypoint), ENGINE)
    assert (request.entrypoint, request.command) == expected


@pytest.mark.parametrize(
    ("profile", "variant", "label"),
    [("spark", None, "spark"), ("rtx6000-b", "mtp", "rtx6000-b/mtp")],
)
def test_labels_say_profile_plan_and_version(profile: str, variant: str | None, label: str) -> None:
    plan = build_plan(load_profile(profile, variant))
    labels = container_request(plan, ENGINE).labels
    assert labels == {
        "io.moet-boot.profile": label,
        "io.moet-boot.plan": plan.digest,
        "io.moet-boot.version": __version__,
    }


def test_only_a_running_supervisor_makes_a_container_ours() -> None:
    plan = container_plan()
    assert not is_ours(container_request(plan, ENGINE).labels)
    marked = container_request(plan, ENGINE, supervisor="4026531836:7:99").labels
    assert is_ours(marked)
    assert marked["io.moet-boot.supervisor"] == "4026531836:7:99"


def test_a_bridge_publishes_on_loopback_only() -> None:
    request = container_request(container_plan(network="bridge", host="0.0.0.0", port=8010), ENGINE)
    assert request.ports == (8010,)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_on_the_loopback_of_a_bridge_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="cannot be reached") as caught:
        container_request(container_plan(network="bridge", host=host), ENGINE)
    assert "--set host=0.0.0.0" in caught.value.fix


def test_a_plan_for_a_process_has_no_container() -> None:
    with pytest.raises(UsageError, match="program of this machine"):
        container_request(replace(container_plan(), runtime="process", container=None), ENGINE)
