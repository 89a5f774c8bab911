"""Builds an image of dockerfiles/ over a base image: looks at the base, fetches the wheels by hash, builds, reports.

The base's entrypoint and command are read from its metadata and recorded in the new image, so that moet-boot can
start what the base would have started. Wheels are fetched here, for the base's Python, and checked against
dockerfiles/requirements.lock: the build itself needs no network.
"""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import BuildError, ContainerError, DockerException, ImageNotFound

from moet_boot import __version__

ROOT = Path(__file__).parent.parent
PARTS = ("dockerfiles", "moet_boot", "profiles")
GOARCH = {"x86_64": "amd64", "aarch64": "arm64"}
TARGET_ARCH = {"sm120": "amd64", "gb10": "arm64"}
LOOK = "import platform, sys; print(*sys.version_info[:2], platform.machine(), *platform.libc_ver())"


@dataclass(frozen=True)
class Base:
    """What the base image starts, for whom it is built, and the Python that moet-boot may use."""

    entrypoint: list[str] | None
    command: list[str] | None
    arch: str
    size: int
    python: tuple[int, int]
    glibc: tuple[int, int]


class ImageProblemError(Exception):
    """Why no image can be built, and what to do."""


def main(argv: list[str] | None = None) -> int:
    asked = _arguments(argv)
    try:
        client = docker.from_env()
        base = look_at(client, asked.base, asked.python)
        check_arch(asked.target, base.arch, platform.machine(), any_arch=asked.any_arch)
        image = build(client, asked, base)
    except ImageProblemError as problem:
        print(f"build_image: {problem}", file=sys.stderr)
        return 1
    except DockerException as error:
        print(f"build_image: the Docker engine does not do it: {error}", file=sys.stderr)
        return 1
    added = image.attrs["Size"] - base.size
    print(f"{asked.tag}: {added / 2**20:.1f} MiB more than {asked.base}; entrypoint kept: {base.entrypoint}")
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/build_image", description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=sorted(TARGET_ARCH), help="which Dockerfile of dockerfiles/")
    parser.add_argument("--base", required=True, help="the vLLM-Moet image to build on; it must be here already")
    parser.add_argument("--tag", required=True, help="name of the new image")
    parser.add_argument("--python", default="python3", help="the base's Python 3.11 or later (default: python3)")
    parser.add_argument("--any-arch", action="store_true", help="build a target for another architecture (tests)")
    return parser.parse_args(argv)


def look_at(client: Any, reference: str, python: str) -> Base:
    """Read the base's metadata, and run its Python once. Raises ImageProblemError."""
    try:
        attributes = client.images.get(reference).attrs
    except ImageNotFound:
        raise ImageProblemError(f"no image {reference} here; build it as its project says, or pull it") from None
    config = attributes["Config"] or {}
    try:
        said = client.containers.run(reference, ["-c", LOOK], entrypoint=[python], network_mode="none", remove=True)
    except (ContainerError, docker.errors.APIError) as error:
        raise ImageProblemError(
            f"{reference} has no {python} that runs ({_first_line(error)}); name its Python 3.11 or later with --python"
        ) from error
    major, minor, _machine, libc, version = (*said.decode().split(), "", "")[:5]
    found = (int(major), int(minor))
    if found < (3, 11):
        raise ImageProblemError(f"{python} of {reference} is Python {major}.{minor}; 3.11 or later is needed: --python")
    if libc != "glibc":
        raise ImageProblemError(f"{reference} is not built on glibc, and there are no wheels for it")
    glibc = tuple(int(part) for part in version.split(".")[:2])
    return Base(
        config.get("Entrypoint"),
        config.get("Cmd"),
        attributes["Architecture"],
        attributes["Size"],
        found,
        (glibc[0], glibc[1]),
    )


def check_arch(target: str, base: str, machine: str, *, any_arch: bool) -> None:
    """The base must be of this machine's architecture, and of the target's. Raises ImageProblemError."""
    here = GOARCH.get(machine, machine)
    if base != here:
        raise ImageProblemError(f"the base is built for {base}, this machine is {here}: build it there")
    if not any_arch and base != TARGET_ARCH[target]:
        raise ImageProblemError(f"target {target} is for {TARGET_ARCH[target]}, and the base is for {base}")


def build(client: Any, asked: argparse.Namespace, base: Base) -> Any:
    """Build from a context of the few folders that are needed. Raises ImageProblemError."""
    arguments = {
        "BASE_IMAGE": asked.base,
        "BASE_ENTRYPOINT": json.dumps(base.entrypoint),
        "BASE_CMD": json.dumps(base.command),
        "PYTHON": asked.python,
        "VERSION": __version__,
    }
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        for part in PARTS:
            shutil.copytree(ROOT / part, context / part, ignore=shutil.ignore_patterns("__pycache__", "wheels"))
        fetch_wheels(context / "dockerfiles" / "wheels", base)
        try:
            image, _ = client.images.build(
                path=str(context),
                dockerfile=f"dockerfiles/{asked.target}.Dockerfile",
                tag=asked.tag,
                buildargs=arguments,
                rm=True,
                forcerm=True,
                network_mode="none",
            )
        except BuildError as error:
            log = "".join(step.get("stream", "") for step in error.build_log)
            raise ImageProblemError(f"{error}\n{log[-2000:]}") from error
    return image


def fetch_wheels(folder: Path, base: Base) -> None:
    """The locked wheels for the base's Python, checked by hash, and pip to install them. Raises ImageProblemError."""
    machine = {arch: name for name, arch in GOARCH.items()}[base.arch]
    locks = ROOT / "dockerfiles"
    python = [f"--python-version={base.python[0]}.{base.python[1]}"]
    # every manylinux up to the base's glibc
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in range(base.glibc[1], 16, -1)]
    platforms += [f"--platform=manylinux2014_{machine}"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes"]
    command += ["--only-binary=:all:", "--no-deps", f"--dest={folder}"]
    for what in ([f"-r{locks}/requirements.lock", *python, *platforms], [f"-r{locks}/pip.lock"]):
        done = subprocess.run([*command, *what], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ImageProblemError(f"the wheels cannot be fetched: {done.stderr.strip()[-1500:]}")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]


if __name__ == "__main__":
    sys.exit(main())
