"""/proc/self/limits: what a process started from here may use."""

import re

from moet_boot.machine.facts.memory import Limits
from moet_boot.machine.tree import Tree, UnreadError

_ROW = re.compile(r"^(Max [\w ]+?)\s{2,}(unlimited|\d+)\s+(unlimited|\d+)", re.MULTILINE)
_EFFECTIVE = re.compile(r"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
CAP_IPC_LOCK = 14
"""capabilities(7), linux/capability.h."""


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


def may_lock(status: str) -> bool | None:
    """Whether /proc/PID/status shows CAP_IPC_LOCK among the effective capabilities; None where it shows none."""
    found = _EFFECTIVE.search(status)
    return bool(int(found[1], 16) >> CAP_IPC_LOCK & 1) if found else None


def read_limits(tree: Tree) -> Limits:
    limits = parse_limits(tree.text("/proc/self/limits"))
    return limits.model_copy(update={"ipc_lock": may_lock(tree.text_or_none("/proc/self/status") or "")})
