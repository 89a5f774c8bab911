"""The check of command lines against the parser that it imitates."""

import json
import subprocess
from pathlib import Path

import pytest

from moet_boot.engine.flags import argument_faults
from tests.engine.argument_cases import REFUSED, TAKEN

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(200)]


def test_the_real_parser_agrees_about_every_case(engine: Path) -> None:
    argvs = [list(argv) for argv in (*TAKEN.values(), *(argv for argv, _ in REFUSED.values()))]
    program = [str(engine.with_name("python")), str(Path(__file__).with_name("real_parser.py"))]
    done = subprocess.run(program, input=json.dumps(argvs), capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout.splitlines()[-1])
    taken = [argument_faults(argv) == [] for argv in argvs]
    assert list(zip(argvs, taken, strict=True)) == list(zip(argvs, answers, strict=True))
