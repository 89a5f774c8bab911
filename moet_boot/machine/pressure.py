"""/proc/pressure: the share of time in which work waited for memory or disks."""

import re

from moet_boot.machine.facts.memory import Pressure, Stall
from moet_boot.machine.tree import Tree, UnreadError

_FIGURE = re.compile(r"(avg10|avg60)=(\d+(?:\.\d+)?)")


def parse_stall(text: str) -> Stall:
    """One file of /proc/pressure. Raises UnreadError when it has no `some` line."""
    figures: dict[str, float] = {}
    for line in text.splitlines():
        kind = line.split(maxsplit=1)[0] if line.strip() else ""
        if kind in {"some", "full"}:
            figures |= {f"{kind}_{name}": float(share) for name, share in _FIGURE.findall(line)}
    if "some_avg10" not in figures:
        raise UnreadError("/proc/pressure has no `some avg10` figure")
    return Stall.model_validate(figures)


def read_pressure(tree: Tree) -> Pressure:
    """Memory and disk pressure. Raises UnreadError on a kernel without PSI or with `psi=0`."""
    try:
        memory = tree.text("/proc/pressure/memory")
    except OSError as failure:
        raise UnreadError(f"the kernel offers no pressure figures ({failure.strerror})") from None
    io = tree.text_or_none("/proc/pressure/io")
    return Pressure(memory=parse_stall(memory), io=parse_stall(io) if io else None)
