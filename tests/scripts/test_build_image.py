"""What an image is built from, without an engine; the build itself is in tests/docker."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from scripts.build_image import PARTS, TARGET_ARCH, ImageProblemError, check_arch

ROOT = Path(__file__).parents[2]
DOCKERFILES = ROOT / "dockerfiles"


def locked(name: str) -> dict[str, list[str]]:
    """Name of a package -> its hashes."""
    found: dict[str, list[str]] = {}
    package = ""
    for line in (DOCKERFILES / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([\w.-]+)==\S+", line):
            package = match[1].lower().replace("_", "-")
            found[package] = []
        found[package] += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return found


def test_every_dependency_is_locked_with_its_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^\w.-]", wanted)[0].lower().replace("_", "-") for wanted in project["dependencies"]}
    lock = locked("requirements.lock")
    assert names <= lock.keys(), "scripts/lock_image_requirements brings the lock up to date"
    assert all(lock.values())


def test_pip_itself_is_locked() -> None:
    assert [len(hashes) for hashes in locked("pip.lock").values()] == [2]


def test_the_dockerfiles_differ_in_their_targets_only() -> None:
    def neutral(target: str) -> str:
        text = (DOCKERFILES / f"{target}.Dockerfile").read_text(encoding="utf-8")
        text = text.replace(target, "TARGET")
        return re.sub(r"rtx6000-a|spark|a DGX Spark \(GB10\)|an RTX PRO 6000 \(SM120\)|x86-64|Arm\b", "X", text)

    assert neutral("sm120") == neutral("gb10")
    assert sorted(TARGET_ARCH) == sorted(path.stem for path in DOCKERFILES.glob("*.Dockerfile"))


def test_the_context_is_what_the_dockerfiles_copy() -> None:
    copied = set(re.findall(r"^COPY (\w+) /build", (DOCKERFILES / "gb10.Dockerfile").read_text(), re.MULTILINE))
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == set(PARTS) == allowed


@pytest.mark.parametrize(
    ("target", "base", "machine", "words"),
    [
        ("gb10", "amd64", "aarch64", "the base is built for amd64, this machine is arm64"),
        ("gb10", "amd64", "x86_64", "target gb10 is for arm64"),
        ("sm120", "arm64", "aarch64", "target sm120 is for amd64"),
        ("sm120", "riscv64", "x86_64", "built for riscv64"),
    ],
)
def test_architectures_that_do_not_fit(target: str, base: str, machine: str, words: str) -> None:
    with pytest.raises(ImageProblemError, match=words):
        check_arch(target, base, machine, any_arch=False)


@pytest.mark.parametrize(
    ("target", "base", "machine", "any_arch"),
    [("gb10", "arm64", "aarch64", False), ("sm120", "amd64", "x86_64", False), ("gb10", "amd64", "x86_64", True)],
)
def test_architectures_that_fit(target: str, base: str, machine: str, any_arch: bool) -> None:
    check_arch(target, base, machine, any_arch=any_arch)
    elsewhere = {"aarch64": "x86_64", "x86_64": "aarch64"}[machine]
    with pytest.raises(ImageProblemError, match="build it there"):
        check_arch(target, base, elsewhere, any_arch=any_arch)


@pytest.mark.parametrize(
    ("python", "words"),
    [("python-that-is-not-there", "has no python-that-is-not-there"), ("old", "3.11 or later is needed")],
    ids=["no Python", "an old one"],
)
def test_a_plain_docker_build_fails_with_the_reason(tmp_path: Path, python: str, words: str) -> None:
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n')
    old.chmod(0o755)
    done = subprocess.run(
        ["sh", str(DOCKERFILES / "install.sh"), str(ROOT), str(tmp_path / "out")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "--build-arg PYTHON=" in done.stderr
    assert not (tmp_path / "out").exists()
