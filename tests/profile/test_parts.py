import pytest

from moet_boot.errors import UsageError
from moet_boot.profile.consistency import inconsistencies
from tests.profile.shipped import shipped, with_sets

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize("key", ["port", "--port"])
def test_a_port_is_set_for_the_server_and_for_who_asks_it(key: str) -> None:
    profile = with_sets("rtx6000-a", f"{key}=8001")
    assert (profile.engine.port, profile.flag("--port")) == (8001, 8001)
    assert profile.flags["--port"].overrides == ("profile=8000",)
    assert profile.chosen["engine.port"].overrides == ("profile=8000",)
    assert inconsistencies(profile) == []


def test_host_and_served_name_too() -> None:
    profile = with_sets("demo", "host=0.0.0.0", "served_model_name=other")
    assert (profile.engine.host, profile.flag("--host")) == ("0.0.0.0", "0.0.0.0")
    assert (profile.engine.served_name, profile.flag("--served-model-name")) == ("other", "other")


def test_an_image_without_arguments_is_only_asked_elsewhere() -> None:
    profile = with_sets("spark", "port=9000")
    assert profile.engine.port == 9000
    assert "--port" not in profile.flags


@pytest.mark.parametrize("text", ["0", "65536", "-1", "eighty", "80.5", "8 0", "1" * 9, ""])
def test_a_port_that_is_none(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_sets("rtx6000-a", f"port={text}")
    assert "port" in caught.value.fix


@pytest.mark.parametrize("text", ["a b", "", "http://x", "x;y"])
def test_a_host_that_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        with_sets("rtx6000-a", f"host={text}")


@pytest.mark.parametrize("text", ["127.0.0.1", "0.0.0.0", "::1", "localhost", "my-host.local"])
def test_hosts(text: str) -> None:
    assert with_sets("rtx6000-a", f"host={text}").engine.host == text


@pytest.mark.parametrize(
    ("text", "gpus"),
    [("1", "device=1"), ("device=0", "device=0"), ("device=0,1", "device=0,1"), ("all", "all"), ("none", "")],
)
def test_which_gpus(text: str, gpus: str) -> None:
    container = with_sets("rtx6000-a", f"gpus={text}").container
    assert container is not None
    assert container.gpus == gpus


@pytest.mark.parametrize("text", ["first", "device=x", "0,1,", "-1"])
def test_gpus_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="expected all, none, or the number of a GPU"):
        with_sets("rtx6000-a", f"gpus={text}")


def test_another_image() -> None:
    profile = with_sets("spark", "image=mine:latest")
    assert profile.container is not None
    assert profile.container.image == "mine:latest"
    assert profile.chosen["container.image"].overrides == ("profile=vllm-moet-gb10:v024",)


@pytest.mark.parametrize(
    "name",
    [
        "vllm",
        "vllm-moet-gb10:v024",
        "ghcr.io/corp/vllm_moet:V0.24-rc_1",
        "localhost:5000/a/b.c--d:1",
        "[::1]:5000/a",
        f"vllm:v1@{DIGEST}",
        f"vllm@{DIGEST}",
        DIGEST,
        "0123456789ab",
    ],
)
def test_names_of_images(name: str) -> None:
    container = with_sets("spark", f"image={name}").container
    assert container is not None
    assert container.image == name


@pytest.mark.parametrize("name", ["Upper", "a b", "-x", "a:", "a@sha256:12", "a:b:c", "a/", "a//b", "a:.x", "a_"])
def test_names_that_no_image_has(name: str) -> None:
    with pytest.raises(UsageError, match="expected the name of an image"):
        with_sets("spark", f"image={name}")


def test_an_image_may_be_pinned_and_the_pin_left_out() -> None:
    pinned = with_sets("spark", f"image-digest={DIGEST}")
    assert pinned.container is not None
    assert pinned.container.image_digest == DIGEST
    assert pinned.chosen["container.image_digest"].overrides == ("profile=none",)
    free = with_sets("spark", f"image-digest={DIGEST}", "image-digest=")
    assert free.container is not None
    assert free.container.image_digest is None
    assert free.chosen["container.image_digest"].overrides == (f"flag={DIGEST}", "profile=none")


@pytest.mark.parametrize("text", ["v024", DIGEST[7:], DIGEST[:-1], DIGEST.upper(), f"x@{DIGEST}"])
def test_a_pin_that_is_no_digest(text: str) -> None:
    with pytest.raises(UsageError, match="expected sha256: and 64 hex digits") as caught:
        with_sets("spark", f"image-digest={text}")
    assert "--no-trunc" in caught.value.fix


@pytest.mark.parametrize("key", ["image=x", "gpus=0"])
def test_a_profile_without_a_container_has_none_of_it(key: str) -> None:
    with pytest.raises(UsageError, match="profile demo has no container"):
        with_sets("demo", key)


def test_another_program() -> None:
    assert with_sets("demo", "engine=/x/vllm").engine.command == ("/x/vllm", "serve")
    assert with_sets("spark", "engine=/x/vllm").engine.command == ("/x/vllm", "serve")


def test_artefacts_may_lie_elsewhere() -> None:
    profile = with_sets("spark", "path.plane_file=/data/p.moet2pf")
    assert profile.artefacts["plane_file"].path == "/data/p.moet2pf"
    assert profile.chosen["artefacts.plane_file.path"].overrides == ("profile=~/models/ds4-planes.moet2pf",)


@pytest.mark.parametrize(
    ("key", "fix"), [("path.plan_file", "did you mean plane_file?"), ("path.zz", "it has: checkpoint, plane_file")]
)
def test_an_artefact_that_the_profile_does_not_have(key: str, fix: str) -> None:
    with pytest.raises(UsageError, match="profile spark has no artefact") as caught:
        with_sets("spark", f"{key}=/x")
    assert caught.value.fix == fix


@pytest.mark.parametrize("key", ["port", "host", "engine", "image", "gpus", "served-model-name", "path.checkpoint"])
def test_parts_cannot_be_left_out(key: str) -> None:
    with pytest.raises(UsageError, match="it cannot be left out"):
        with_sets("spark", f"{key}=")


def test_advice_to_clients() -> None:
    profile = with_sets("rtx6000-a", "sampling.min_p=0.02", "sampling.temperature=")
    assert profile.sampling["min_p"].value == 0.02
    assert profile.sampling["temperature"].absent
    assert profile.sampling["temperature"].banned == shipped("rtx6000-a").sampling["temperature"].banned


def test_advice_may_be_set_twice() -> None:
    profile = with_sets("rtx6000-a", "sampling.min_p=", "sampling.min_p=", "sampling.min_p=0.02")
    min_p = profile.sampling["min_p"]
    assert (min_p.value, min_p.overrides) == (0.02, ("flag=absent", "flag=absent", "profile=0.05"))


@pytest.mark.parametrize("setting", ["sampling.min_p=low", "sampling.min_p=nan", "sampling.zz=1", "sampling.=1"])
def test_advice_that_is_none(setting: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_sets("rtx6000-a", setting)
    assert caught.value.fix


def test_several_layers_of_a_part() -> None:
    profile = with_sets("rtx6000-a", "port=1", "port=2")
    assert profile.chosen["engine.port"].overrides == ("flag=1", "profile=8000")
