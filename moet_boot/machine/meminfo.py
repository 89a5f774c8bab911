"""/proc/meminfo."""

import re

from moet_boot.machine.facts.memory import MemInfo
from moet_boot.machine.tree import Tree, UnreadError

_LINE = re.compile(r"^([\w()]+):\s+(\d+)(?: kB)?\s*$", re.MULTILINE)


def parse_meminfo(text: str) -> MemInfo:
    """The fields that this project knows, in kB. Raises UnreadError when the text is no meminfo."""
    fields = {name: int(size) for name, size in _LINE.findall(text)}
    missing = {"MemTotal", "MemFree"} - fields.keys()
    if missing:
        raise UnreadError(f"/proc/meminfo has no {' and no '.join(sorted(missing))}")
    return MemInfo.model_validate(fields)


def read_meminfo(tree: Tree) -> MemInfo:
    return parse_meminfo(tree.text("/proc/meminfo"))
