"""/proc/vmstat: counters since boot, and how fast major page faults come now."""

import time
from collections.abc import Callable

from moet_boot.machine.facts.memory import VmStat
from moet_boot.machine.tree import Tree, UnreadError

INTERVAL_S = 0.2
"""Long enough for 5 faults/s to show; thrash is in the thousands a second."""


def parse_counters(text: str) -> dict[str, int]:
    """Name -> value. Raises UnreadError when it is no vmstat."""
    rows = (line.split() for line in text.splitlines())
    counters = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdecimal()}  # noqa: PLR2004
    if "pgmajfault" not in counters:
        raise UnreadError("/proc/vmstat has no pgmajfault counter")
    return counters


def vmstat_between(before: dict[str, int], after: dict[str, int], seconds: float) -> VmStat:
    """The later counters, with the rate of major faults between the two readings."""
    faults = max(after["pgmajfault"] - before["pgmajfault"], 0)
    return VmStat(
        compact_stall=after.get("compact_stall", 0),
        compact_fail=after.get("compact_fail", 0),
        allocstall_normal=sum(count for name, count in after.items() if name.startswith("allocstall")),
        oom_kill=after.get("oom_kill"),
        pgmajfault_per_s=round(faults / seconds, 1) if seconds > 0 else 0.0,
    )


def read_vmstat(
    tree: Tree,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> VmStat:
    """Two readings INTERVAL_S apart."""
    started, before = clock(), parse_counters(tree.text("/proc/vmstat"))
    sleep(INTERVAL_S)
    ended, after = clock(), parse_counters(tree.text("/proc/vmstat"))
    return vmstat_between(before, after, ended - started)
