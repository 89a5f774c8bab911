from typing import Any

import pytest

from moet_boot.checks.finding import Sight, Status
from moet_boot.checks.scope import DOCKER
from tests.checks.cases import GONE, case_of, judge_by, said

IDS = ["DOCKER.ENGINE", "DOCKER.IMAGE", "DOCKER.GPU", "DOCKER.NAME"]
NAME = "moet-boot-spark"
DIGEST, OTHER = f"sha256:{1:064x}", f"sha256:{2:064x}"


def container(state: str, *, ours: bool, name: str = NAME, orphan: bool = False) -> dict[str, Any]:
    return {"docker.containers": [{"name": name, "state": state, "ours": ours, "orphan": orphan}]}


@pytest.mark.parametrize(
    ("id_", "changes", "status", "words"),
    [
        pytest.param("DOCKER.ENGINE", {}, "pass", ["docker 29.2.1"], id="engine"),
        pytest.param(
            "DOCKER.ENGINE",
            {"docker": {"present": False, "error": "no socket"}},
            "refuse",
            ["no socket", "install"],
            id="no-engine",
        ),
        pytest.param("DOCKER.ENGINE", {"docker.rootless": True}, "warn", ["rootless"], id="rootless"),
        pytest.param("DOCKER.ENGINE", {"docker.engine": "podman"}, "warn", ["podman"], id="podman"),
        pytest.param("DOCKER.ENGINE", {"docker.direct_kill": True}, "pass", ["docker"], id="may-kill"),
        pytest.param(
            "DOCKER.ENGINE", {"docker.direct_kill": False}, "warn", ["may not signal", "sudo"], id="may-not-kill"
        ),
        pytest.param("DOCKER.IMAGE", {}, "pass", ["arm64"], id="image"),
        pytest.param("DOCKER.IMAGE", {"docker.image": GONE}, "refuse", ["docker pull"], id="no-image"),
        pytest.param("DOCKER.IMAGE", {"docker.image.present": False}, "refuse", ["vllm-moet-gb10:v024"], id="absent"),
        pytest.param(
            "DOCKER.IMAGE", {"docker.image.arch": "amd64"}, "refuse", ["architecture amd64", "arm64"], id="amd64"
        ),
        pytest.param("DOCKER.IMAGE", {"docker.image.arch": "arm64/v8"}, "pass", [], id="with-a-variant"),
        pytest.param("DOCKER.IMAGE", {"docker.image.arch": "linux/arm64/v8"}, "pass", [], id="with-its-system"),
        pytest.param("DOCKER.IMAGE", {"docker.image.arch": "linux/amd64"}, "refuse", ["arm64"], id="amd64-with-system"),
        pytest.param("DOCKER.IMAGE", {"docker.image.arch": "aarch64"}, "pass", [], id="the-kernels-name"),
        pytest.param("DOCKER.IMAGE", {"docker.image.arch": None}, "pass", ["unknown"], id="arch-not-known"),
        pytest.param("DOCKER.IMAGE", {"docker": {"present": False}}, "skipped", [], id="nobody-to-ask"),
        pytest.param(
            "DOCKER.IMAGE",
            {"docker.image.present": False, "docker.image.digests": [OTHER]},
            "refuse",
            [f"vllm-moet-gb10:v024 here is {OTHER}", f"image-digest={OTHER}"],
            id="another-of-the-name",
        ),
        pytest.param("DOCKER.IMAGE", {"arch": None}, "pass", ["arm64"], id="machine-not-known"),
        pytest.param("DOCKER.GPU", {}, "pass", ["runtime nvidia"], id="runtime"),
        pytest.param("DOCKER.GPU", {"docker.runtimes": ["runc"]}, "pass", ["cdi"], id="cdi"),
        pytest.param(
            "DOCKER.GPU",
            {"docker.runtimes": ["runc"], "docker.cdi_devices": []},
            "refuse",
            ["nvidia-container-toolkit"],
            id="neither",
        ),
        pytest.param("DOCKER.GPU", {"docker": {"present": False}}, "skipped", [], id="no-engine-no-gpu"),
        pytest.param("DOCKER.GPU", {"docker.engine": "podman"}, "pass", [], id="podman-with-cdi"),
        pytest.param(
            "DOCKER.GPU",
            {"docker.engine": "podman", "docker.cdi_devices": []},
            "refuse",
            ["nvidia-ctk cdi generate"],
            id="podman-without-cdi",
        ),
        pytest.param("DOCKER.NAME", {}, "pass", ["is free"], id="name-free"),
        pytest.param("DOCKER.NAME", container("running", ours=True), "refuse", ["moet-boot stop"], id="runs"),
        pytest.param("DOCKER.NAME", container("exited", ours=True), "pass", ["has ended"], id="ended"),
        pytest.param(
            "DOCKER.NAME", container("running", ours=True, orphan=True), "warn", ["serve ends it"], id="orphan"
        ),
        pytest.param(
            "DOCKER.NAME", container("exited", ours=True, orphan=True), "pass", ["has ended"], id="ended-orphan"
        ),
        pytest.param("DOCKER.NAME", container("exited", ours=False), "refuse", ["docker rm"], id="somebody-elses"),
        pytest.param("DOCKER.NAME", container("running", ours=False, name="x"), "pass", [], id="another-name"),
        pytest.param("DOCKER.NAME", {"docker.run.restart": "unless-stopped"}, "warn", ["restart"], id="restarts-alone"),
        pytest.param("DOCKER.NAME", {"docker": {"present": False}}, "skipped", [], id="no-engine-no-name"),
    ],
)
def test_containers(id_: str, changes: dict[str, Any], status: str, words: list[str]) -> None:
    finding = judge_by(id_, case_of("spark", changes))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


@pytest.mark.parametrize("id_", IDS)
def test_a_process_needs_no_container_engine(id_: str) -> None:
    finding = judge_by(id_, case_of("demo", {"docker": {"present": False}}))
    assert finding.measured == DOCKER.otherwise


@pytest.mark.parametrize("id_", IDS)
def test_docker_that_was_not_asked_is_no_freeze(id_: str) -> None:
    assert not judge_by(id_, case_of("spark", {"docker": None})).stops
    assert judge_by(id_, case_of("spark", {"docker": None}, sight=Sight.LIVE)).status is Status.WARN


@pytest.mark.parametrize(
    ("known", "status", "words"),
    [
        pytest.param({"digests": [OTHER, DIGEST]}, "pass", ["arm64"], id="one of several"),
        pytest.param({"digest": DIGEST}, "pass", [], id="a snapshot with one digest"),
        pytest.param({"digests": [OTHER], "digest": DIGEST}, "refuse", [OTHER], id="the list counts"),
        pytest.param(
            {"digests": [OTHER]},
            "refuse",
            [
                f"architecture arm64, {OTHER}",
                f"docker pull vllm-moet-gb10:v024@{DIGEST}",
                f"--set image-digest={OTHER}",
                "or none (--set image-digest=)",
            ],
            id="another",
        ),
        pytest.param({}, "warn", ["not recorded", DIGEST], id="not recorded"),
        pytest.param({"digests": [DIGEST], "arch": "amd64"}, "refuse", ["architecture amd64"], id="wrong machine"),
    ],
)
def test_a_pinned_image(known: dict[str, Any], status: str, words: list[str]) -> None:
    changes = {f"docker.image.{name}": value for name, value in known.items()}
    finding = judge_by("DOCKER.IMAGE", case_of("spark", changes, sets=(f"image-digest={DIGEST}",)))
    assert finding.status == status, finding
    assert all(word in said(finding) for word in words), said(finding)


def test_a_pin_cannot_be_accepted_away() -> None:
    """It is no risk but a wish: who wants another image drops the pin."""
    case = case_of("spark", {"docker.image.digests": [OTHER]}, sets=(f"image-digest={DIGEST}",))
    assert not judge_by("DOCKER.IMAGE", case).acceptable


def test_no_pin_takes_any_digest() -> None:
    assert judge_by("DOCKER.IMAGE", case_of("spark", {"docker.image.digests": [OTHER]})).status is Status.PASS


def test_a_container_without_gpu_needs_no_toolkit() -> None:
    case = case_of("spark", {"docker.runtimes": [], "docker.cdi_devices": []}, sets=("gpus=none",))
    assert judge_by("DOCKER.GPU", case).status is Status.SKIPPED
