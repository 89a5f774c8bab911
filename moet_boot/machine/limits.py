"""/proc/self/limits: what a process started from here may use."""

import re

from moet_boot.machine.facts.memory import Limits
from moet_boot.machine.tree import Tree, UnreadError

_ROW = re.compile(r"^(Max [\w ]+?)\s{2,}(unlimited|\d+)\s+(unlimited|\d+)", re.MULTILINE)


def parse_limits(text: str) -> Limits:
    """The soft limits, and the hard one of open files. Raises UnreadError when a limit is not listed."""
    rows = _ROW.findall(text)
    soft = {name: None if limit == "unlimited" else int(limit) for name, limit, _ in rows}
    hard = {name: limit for name, _, limit in rows}
    try:
        return Limits(
            memlock_bytes=soft["Max locked memory"],
            nofile=soft["Max open files"],
            nofile_hard="unlimited" if hard["Max open files"] == "unlimited" else int(hard["Max open files"]),
            core_bytes=soft["Max core file size"],
        )
    except KeyError as missing:
        raise UnreadError(f"/proc/self/limits does not list {missing}") from None


def read_limits(tree: Tree) -> Limits:
    return parse_limits(tree.text("/proc/self/limits"))
