"""/proc/swaps."""

from moet_boot.machine.facts.memory import Swap
from moet_boot.machine.tree import Tree, UnreadError, unescape


def parse_swaps(text: str) -> list[Swap]:
    """One entry for each swap area, sizes in kB. Raises UnreadError for a row that is none."""
    return [_row(line) for line in text.splitlines()[1:] if line.strip()]


def _row(line: str) -> Swap:
    try:
        dev, kind, size, used, prio = line.split()
        return Swap(dev=unescape(dev), type=kind, size_kb=int(size), used_kb=int(used), prio=int(prio))
    except ValueError:
        raise UnreadError(f"/proc/swaps has a row that is no swap area: {line.strip()[:60]!r}") from None


def read_swaps(tree: Tree) -> list[Swap]:
    return parse_swaps(tree.text("/proc/swaps"))
