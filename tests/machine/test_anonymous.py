import getpass
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine import anonymous as module
from moet_boot.machine.anonymous import anonymous, own_home, scrub
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.record import record
from moet_boot.machine.snapshot import Checkpoint, Docker, DockerImage, FileFacts, Filesystem, Snapshot
from tests.machine.safetensors_files import REVISION

FIELD = Path(__file__).parents[1] / "data" / "field"
DIGEST = "sha256:" + "a" * 64
NOBODY: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("text", "field", "clean"),
    [
        pytest.param("/home/alice/models/x", "path", "~/models/x", id="another-home"),
        pytest.param("/srv/me/models", "path", "~/models", id="own-home"),
        pytest.param("/srv/me", "path", "~", id="home-itself"),
        pytest.param("/srv/me-too/models", "path", "/srv/me-too/models", id="like-the-own-home"),
        pytest.param("/mnt/c/Users/Alice/models", "path", "~/models", id="windows"),
        pytest.param("/media/alice/disk", "path", "~/disk", id="usb-disk"),
        pytest.param("/run/media/alice/disk", "path", "~/disk", id="usb-disk-of-fedora"),
        pytest.param("/data/models", "path", "/data/models", id="nobodys"),
        pytest.param("/docker/" + "0a" * 32, "path", "/docker/[id]", id="container"),
        pytest.param("/mnt/8f0a1b2c-0000-4000-8000-0123456789ab/m", "path", "/mnt/[uuid]/m", id="uuid"),
        pytest.param(REVISION, "revision", REVISION, id="revision"),
        pytest.param("corp.example:5000/team/vllm:1", "ref", "team/vllm:1", id="private-registry"),
        pytest.param("vllm-moet-gb10:v024", "ref", "vllm-moet-gb10:v024", id="local-image"),
        pytest.param("team/vllm:1.2", "ref", "team/vllm:1.2", id="public-image"),
        pytest.param(
            "cannot read /home/alice/x: Permission denied", "x", "cannot read ~/x: Permission denied", id="words"
        ),
        pytest.param("6.17.0-1026-nvidia", "kernel", "6.17.0-1026-nvidia", id="kernel"),
    ],
)
def test_texts(text: str, field: str, clean: str) -> None:
    kept = {"revision"}
    assert (text if field in kept else scrub(text, field, "/srv/me", NOBODY)) == clean


def test_user_and_host_as_parts_of_a_path() -> None:
    assert scrub("/data/alice/box7/alices", "path", "/x", frozenset({"alice", "box7"})) == "/data/[name]/[name]/alices"


@pytest.mark.parametrize("text", ["nvidia", "nvidia.com/gpu=all", "6.17.0-1026-nvidia"])
def test_a_user_called_like_something_else_hides_nothing_else(text: str) -> None:
    assert scrub(text, "runtimes", "/home/nvidia", frozenset({"nvidia"})) == text


def test_a_home_of_a_single_slash_is_nobodys() -> None:
    assert scrub("/data", "path", "/", NOBODY) == "/data"


def test_all_texts_of_a_snapshot_are_cleaned_and_public_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_own_names", lambda: NOBODY)
    snapshot = Snapshot(
        checkpoint=Checkpoint(path="/home/a/m", revision=REVISION, problems=["/home/a/m is a file"]),
        files=[FileFacts(path="/home/a/p", pinned_revision=REVISION)],
        fs={"model": Filesystem(path="/home/a/m")},
        docker=Docker(present=True, image=DockerImage(ref="x:1", digest=DIGEST, digests=[DIGEST])),
        errors={"stores": "/home/a/m/config.json does not exist"},
    )
    clean = anonymous(snapshot)
    assert "/home/" not in clean.model_dump_json()
    assert clean.checkpoint is not None
    assert clean.checkpoint.revision == REVISION
    assert clean.files is not None
    assert (clean.files[0].path, clean.files[0].pinned_revision) == ("~/p", REVISION)
    assert clean.docker is not None
    assert clean.docker.image is not None
    assert (clean.docker.image.digest, clean.docker.image.digests) == (DIGEST, [DIGEST])


@pytest.mark.parametrize("case", sorted(FIELD.glob("*.json")), ids=lambda case: case.stem)
def test_a_field_case_has_nothing_to_hide(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_own_names", lambda: NOBODY)
    snapshot = load_snapshot(case)
    assert anonymous(snapshot) == snapshot


def test_this_machine_is_not_named() -> None:
    text = anonymous(record()).model_dump_json()
    home = str(Path.home())
    assert len(home) < 2 or f"{home}/" not in text
    for name in {getpass.getuser(), platform.node()} - {"root", "localhost"}:
        assert f"/{name}/" not in text


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert anonymous(Snapshot(arch="x86_64")).arch == "x86_64"


@given(st.text(max_size=60))
def test_a_clean_text_stays_clean(text: str) -> None:
    once = scrub(text, "path", "/srv/me", NOBODY)
    assert scrub(once, "path", "/srv/me", NOBODY) == once


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert own_home() == ""
    assert anonymous(Snapshot(arch="x86_64")).arch == "x86_64"
