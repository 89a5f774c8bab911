"""Runs inside the engine's own Python: parses command lines from stdin (JSON), prints for each whether it is taken."""

import contextlib
import io
import json
import sys
from importlib import import_module
from typing import Any


def is_taken(parser: Any, argv: list[str]) -> bool:
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            parser.parse_args(argv)
        except SystemExit:
            return False
    return True


def main() -> None:
    flexible = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    make = import_module("vllm.entrypoints.launchers.cli_args").make_arg_parser
    parser = make(flexible(prog="vllm serve"))
    answers = [is_taken(parser, argv) for argv in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(answers))


if __name__ == "__main__":
    main()
