import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.launch.chained_plan import Chain
from moet_boot.preflight.request import Verify
from moet_boot.supervise.inside import GRACE_S, Mode, read_inside

DOCKER_STOP_S = 10


def test_only_the_profile_is_needed() -> None:
    inside = read_inside({"MOET_BOOT_PROFILE": "spark", "PATH": "/bin"}, ["--seed", "7"])
    assert inside.mode is Mode.SUPERVISE
    assert (inside.request.profile, inside.request.variant) == ("spark", None)
    assert inside.request.extra == ("--seed", "7")
    assert inside.request.chain == Chain()
    assert inside.request.verify is Verify.QUICK
    assert inside.options.endpoints_port is None
    assert not inside.options.observe_only


def test_arguments_that_are_settings_are_judged_like_them() -> None:
    request = read_inside({"MOET_BOOT_PROFILE": "rtx6000-b"}, ["--max-num-seqs", "64", "--mine"]).request
    assert (request.sets, request.extra) == (("--max-num-seqs=64",), ("--mine",))


def test_the_server_is_gone_before_docker_stop_loses_patience() -> None:
    assert read_inside({"MOET_BOOT_PROFILE": "spark"}, []).options.timing.grace_s == GRACE_S < DOCKER_STOP_S


def test_every_setting() -> None:
    env = {
        "MOET_BOOT_PROFILE": "rtx6000-b",
        "MOET_BOOT_VARIANT": "mtp",
        "MOET_BOOT_VERIFY": "sample",
        "MOET_BOOT_ACCEPT_RISK": "MEM.FREE, MEM.CONTIGUOUS DISK.TYPE",
        "MOET_BOOT_MODE": "exec",
        "MOET_BOOT_OBSERVE_ONLY": "1",
        "MOET_BOOT_FAIL_ON_WARN": "1",
        "MOET_BOOT_ENDPOINTS_PORT": "0",
        "MOET_BOOT_STOP_GRACE": "25.5",
        "MOET_BOOT_BASE_ENTRYPOINT": '["vllm", "serve"]',
        "MOET_BOOT_BASE_CMD": "null",
    }
    inside = read_inside(env, [])
    assert inside.mode is Mode.EXEC
    assert (inside.request.variant, inside.request.verify) == ("mtp", Verify.SAMPLE)
    assert inside.request.accepted == ("MEM.FREE", "MEM.CONTIGUOUS", "DISK.TYPE")
    assert inside.request.chain == Chain(("vllm", "serve"), ())
    assert (inside.options.observe_only, inside.options.fail_on_warn) == (True, True)
    assert (inside.options.endpoints_port, inside.options.timing.grace_s) == (0, 25.5)


def test_a_service_named_like_moet_boot_is_no_setting() -> None:
    """A pod of a Kubernetes service `moet-boot` has these, and must boot all the same."""
    service = {"MOET_BOOT_SERVICE_HOST": "10.0.0.1", "MOET_BOOT_PORT": "tcp://10.0.0.1:80"}
    assert read_inside({"MOET_BOOT_PROFILE": "spark", **service}, []).request.profile == "spark"
    with pytest.raises(UsageError, match="MOET_BOOT_PORT means nothing"):
        read_inside({"MOET_BOOT_PROFILE": "spark", "MOET_BOOT_PORT": "80"}, [])


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    inside = read_inside({"MOET_BOOT_PROFILE": "spark", "MOET_BOOT_MODE": "", "MOET_BOOT_NONSENSE": ""}, [])
    assert inside.mode is Mode.SUPERVISE


@pytest.mark.parametrize("name", ["SET", "ENGINE", "CONFIG", "STATE_DIR", "RUNTIME_DIR"])
def test_names_that_others_read_are_known(name: str) -> None:
    plain = {"MOET_BOOT_PROFILE": "spark"}
    assert read_inside({**plain, f"MOET_BOOT_{name}": "x"}, []) == read_inside(plain, [])


@pytest.mark.parametrize("env", [{}, {"MOET_BOOT_PROFILE": ""}], ids=["absent", "empty"])
def test_without_a_profile(env: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="MOET_BOOT_PROFILE is not set") as caught:
        read_inside(env, [])
    assert "-e MOET_BOOT_PROFILE=spark" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("MOET_BOOT_PROFIL", "MOET_BOOT_PROFILE"),
        ("MOET_BOOT_ACCEPT_RISKS", "MOET_BOOT_ACCEPT_RISK"),
        ("MOET_BOOT_XYZZY", "known:"),
    ],
)
def test_a_name_that_means_nothing_is_no_silent_default(name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=f"{name} means nothing") as caught:
        read_inside({"MOET_BOOT_PROFILE": "spark", name: "1"}, [])
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("VERIFY", "fast", "quick or sample or full or fresh or none"),
        ("MODE", "daemon", "supervise or exec"),
        ("OBSERVE_ONLY", "yes", "0 or 1"),
        ("FAIL_ON_WARN", "true", "0 or 1"),
        ("ENDPOINTS_PORT", "-1", "a port"),
        ("ENDPOINTS_PORT", "65536", "a port"),
        ("ENDPOINTS_PORT", "٨", "a port"),
        ("STOP_GRACE", "nan", "seconds"),
        ("STOP_GRACE", "-1", "seconds"),
        ("STOP_GRACE", "soon", "could not convert"),
        ("BASE_ENTRYPOINT", "vllm serve", "a JSON list"),
        ("BASE_ENTRYPOINT", '"vllm"', "a JSON list"),
        ("BASE_CMD", '["a", 1]', "a JSON list"),
        ("BASE_CMD", "{}", "a JSON list"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(name: str, text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=f"MOET_BOOT_{name}=") as caught:
        read_inside({"MOET_BOOT_PROFILE": "spark", f"MOET_BOOT_{name}": text}, [])
    assert expected in caught.value.what


@given(words=st.lists(st.text(max_size=20), max_size=5))
def test_any_entrypoint_survives_the_journey_through_the_image(words: list[str]) -> None:
    env = {"MOET_BOOT_PROFILE": "spark", "MOET_BOOT_BASE_ENTRYPOINT": json.dumps(words)}
    chain = read_inside(env, []).request.chain
    assert chain is not None
    assert chain.entrypoint == tuple(words)


@given(
    text=st.text(min_size=1, max_size=30),
    name=st.sampled_from(["VERIFY", "MODE", "STOP_GRACE", "ENDPOINTS_PORT", "BASE_CMD"]),
)
def test_no_text_breaks_it(name: str, text: str) -> None:
    try:
        read_inside({"MOET_BOOT_PROFILE": "spark", f"MOET_BOOT_{name}": text}, [])
    except UsageError as error:
        said = error.what
    else:
        said = f"MOET_BOOT_{name}"
    assert f"MOET_BOOT_{name}" in said
