"""Read a recorded snapshot back, or say in one line what is wrong with the document."""

import json
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from moet_boot.errors import UsageError
from moet_boot.machine.snapshot import SCHEMA, Snapshot
from moet_boot.units import MIB, format_bytes

MAX_BYTES = 16 * MIB
"""A snapshot with every part listed is some 100 KiB; a larger file is something else."""

FIX = "record one with `moet-boot snapshot -o FILE`"
GROUPS = frozenset(Snapshot.model_fields) - {"schema_", "errors"}
KIND = SCHEMA.rpartition("/")[0]
MAX_DIGITS = 20
"""No count of a machine needs more: 2**64 has as many."""


def load_snapshot(path: Path | str) -> Snapshot:
    """The snapshot in a JSON file: the document itself or its `snapshot` key.

    Raises UsageError, naming the file and the line or field, for anything that is no snapshot of this version
    or that no machine can have shown.
    """
    file = Path(path)
    document = _parse(file, _read(file))
    where = ""
    if "snapshot" in document:
        if str(document.get("schema")).startswith(KIND):
            _check_schema(file, document)
        document, where = document["snapshot"], "snapshot."
        if not isinstance(document, dict):
            raise UsageError(f"{file}: `snapshot` is {_kind(document)}, not an object", fix=FIX)
    _check_schema(file, document)
    if not GROUPS & document.keys():
        seen = _plain(", ".join(sorted(document)[:5])) or "no keys at all"
        raise UsageError(f"{file}: no group of a snapshot in it (seen: {seen:.80})", fix=FIX)
    try:
        return Snapshot.model_validate(document, strict=True)
    except ValidationError as failure:
        raise UsageError(f"{file}: {_first_problem(failure, where)}", fix=FIX) from None


def _read(file: Path) -> bytes:
    try:
        status = file.stat()
        if S_ISDIR(status.st_mode):
            raise UsageError(f"{file} is a directory, not a snapshot file", fix=FIX)
        if not S_ISREG(status.st_mode):
            raise UsageError(f"{file} is not a regular file", fix="save the snapshot in a file first")
        if status.st_size > MAX_BYTES:
            size, limit = format_bytes(status.st_size), format_bytes(MAX_BYTES)
            raise UsageError(f"{file}: {size} is too large for a snapshot (limit {limit})", fix=FIX)
        content = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"no such snapshot file: {file}", fix=FIX) from None
    except (OSError, ValueError) as failure:
        raise UsageError(f"{file} cannot be read: {failure}", fix="check the path and its permissions") from None
    if not content.strip():
        raise UsageError(f"{file} is empty, not a snapshot", fix=FIX)
    return content


def _parse(file: Path, content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=_no_such_number,
            parse_int=_whole_number,
            object_pairs_hook=_each_key_once,
        )
        json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as failure:
        where = f"line {failure.lineno}, column {failure.colno}"
        raise UsageError(f"{file} is not JSON: {failure.msg} at {where}", fix=FIX) from None
    except UnicodeDecodeError as failure:
        raise UsageError(f"{file} is not JSON: byte {failure.start} is not UTF-8", fix=FIX) from None
    except UnicodeEncodeError as failure:
        half = f"\\u{ord(failure.object[failure.start]):04x}"
        raise UsageError(f"{file} is not a snapshot: {half} is half a character, no text", fix=FIX) from None
    except RecursionError:
        raise UsageError(f"{file} is not a snapshot: nested too deeply", fix=FIX) from None
    except ValueError as failure:
        raise UsageError(f"{file} is not a snapshot: {failure}", fix=FIX) from None
    if not isinstance(document, dict):
        raise UsageError(f"{file}: the document is {_kind(document)}, not an object", fix=FIX)
    return document


def _no_such_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"{digits[:MAX_DIGITS]}... has {len(digits.lstrip('-'))} digits: no machine counts that far")
    return int(digits)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; a key that is there twice says two things, and which of them was measured nobody knows."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {_plain(key)} is there twice")
        found[key] = value
    return found


def _check_schema(file: Path, document: dict[str, Any]) -> None:
    schema = document.get("schema")
    if schema not in {None, SCHEMA}:
        raise UsageError(
            f"{file}: schema is {json.dumps(schema)[:80]}, this moet-boot reads {SCHEMA}",
            fix="use the moet-boot that recorded it, or record it again with this one",
        )


def _first_problem(failure: ValidationError, where: str) -> str:
    problems = failure.errors(include_url=False)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}{_sentence(problems[0])}{more}"


def _sentence(problem: ErrorDetails) -> str:
    field = _plain(".".join(str(part) for part in problem["loc"]))
    message = problem["msg"].removeprefix("Value error, ")
    seen = problem["input"]
    if isinstance(seen, (dict, list)):
        return f"{field}: {message}"
    return f"{field}: {message}, not {json.dumps(seen)[:60]}"


def _plain(text: str) -> str:
    """The text with everything escaped that a terminal could not show."""
    return json.dumps(text)[1:-1]


def _kind(value: object) -> str:
    return {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
