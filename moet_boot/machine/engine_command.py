"""The server program of a process runtime: found or not, and which version lies beside it."""

import os
import shutil
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path

from moet_boot.machine.facts.host import EngineFacts

PACKAGE = "vllm"


def read_engine(command: Sequence[str], search_path: str | None = None) -> EngineFacts:
    """Look the first word of a command up as a shell would. Nothing is run: `vllm --version` takes 11 s."""
    program = os.path.expanduser(command[0])  # noqa: PTH111  (`vllm` alone must stay a bare name)
    found = shutil.which(program, path=search_path)
    if found is None:
        return EngineFacts(command=command[0], path=_existing(program), error=_why_not(program))
    return EngineFacts(command=command[0], path=found, executable=True, version=installed_version(Path(found)))


def installed_version(program: Path) -> str | None:
    """The version of vLLM in the environment that holds a program, None if it does not say."""
    prefix = program.absolute().parent.parent
    packages = [str(path) for path in sorted(prefix.glob("lib*/python3*/site-packages"))]
    found = distributions(name=PACKAGE, path=packages) if packages else ()
    return next((distribution.version for distribution in found), None)


def _existing(program: str) -> str | None:
    return program if "/" in program and Path(program).exists() else None


def _why_not(program: str) -> str:
    if "/" not in program:
        return f"no program {program} on the PATH"
    path = Path(program)
    if path.is_dir():
        return f"{program} is a directory"
    return f"{program} is not executable" if path.exists() else f"no such file: {program}"
