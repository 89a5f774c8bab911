"""Builds the stand-in for NVIDIA's library."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("nvml_stub.c")


def build_stub(folder: Path, *defines: str) -> Path:
    """Compile the stub as libnvidia-ml.so.1 into a folder and return the folder; fails the test without gcc."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.fail("the NVML tests compile a stub library and need gcc: apt-get install gcc")
    folder.mkdir(parents=True, exist_ok=True)
    flags = [f"-D{name}" for name in defines]
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", *flags, "-o", target, SOURCE], check=True, timeout=60)
    return folder
