"""Out-of-memory killers in user space: when they would act, read from their arguments. Pure."""

import re
from dataclasses import dataclass

from moet_boot.machine.snapshot import MemInfo, ProcessFacts
from moet_boot.units import KIB

KILLERS = frozenset(
    {"earlyoom", "dgx-anti-oom", "systemd-oomd", "oomd", "nohang", "nohang-desktop", "bustd", "low-memory-monitor"}
)
EARLYOOM_PERCENT = 10.0
"""earlyoom's default for -m and for -s, in percent of memory and swap (earlyoom(1))."""

_OPTION = re.compile(r"(?:^|\s)-{flag}[\s=]*(\d+(?:\.\d+)?)".replace("{flag}", "([mMsS])"))


@dataclass(frozen=True)
class Killer:
    """A killer that runs. `acts_below_bytes`: MemAvailable at which it kills, None where it is not known.

    `after_swap`: it also waits until swap is used up, which a load can do.
    """

    name: str
    acts_below_bytes: int | None
    after_swap: bool = False


def killer_of(process: ProcessFacts, meminfo: MemInfo) -> Killer | None:
    """What a process is as a killer; None if it is none."""
    name = process.name.rsplit("/", 1)[-1]
    if name not in KILLERS:
        return None
    if name != "earlyoom":
        return Killer(name, None)
    options = {flag: float(value) for flag, value in _OPTION.findall(process.args or "")}
    return Killer(name, _below(options, meminfo), after_swap=not _swap_lets_it(options, meminfo))


def _below(options: dict[str, float], meminfo: MemInfo) -> int:
    if "M" in options:
        return round(options["M"] * KIB)
    return round(meminfo.total_bytes * options.get("m", EARLYOOM_PERCENT) / 100)


def _swap_lets_it(options: dict[str, float], meminfo: MemInfo) -> bool:
    """Earlyoom acts when memory and swap are both below their limits; no swap counts as below."""
    if not meminfo.swap_total:
        return True
    if "S" in options:
        return meminfo.swap_free <= options["S"]
    return 100 * meminfo.swap_free <= options.get("s", EARLYOOM_PERCENT) * meminfo.swap_total
