"""A small JSON file as it was found: its value, or why there is none."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

MAX_BYTES = 16 << 20


class FileState(StrEnum):
    """What reading a file gave."""

    FOUND = "found"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_JSON = "not JSON"


@dataclass(frozen=True)
class JsonFile:
    """`value` is what the file says when `state` is FOUND; `detail` is the reader's complaint otherwise."""

    state: FileState
    value: Any = None
    detail: str = ""

    def get(self, key: str) -> Any:
        """A value of the top-level object, None when there is no such thing."""
        return self.value.get(key) if isinstance(self.value, dict) else None


MISSING = JsonFile(FileState.MISSING)


def read_json(path: Path) -> JsonFile:
    """Read a file that should hold JSON; never raises for what is on the disk."""
    try:
        if not path.exists():
            return MISSING
        if not path.is_file():
            return JsonFile(FileState.UNREADABLE, detail="not a regular file")
        if path.stat().st_size > MAX_BYTES:
            return JsonFile(FileState.NOT_JSON, detail=f"larger than {MAX_BYTES} bytes")
        return JsonFile(FileState.FOUND, json.loads(path.read_bytes()))
    except OSError as failure:
        return JsonFile(FileState.UNREADABLE, detail=failure.strerror or str(failure))
    except (ValueError, RecursionError) as failure:
        return JsonFile(FileState.NOT_JSON, detail=str(failure))
