"""/proc/buddyinfo: how contiguous the free memory is."""

import os
import re
from itertools import zip_longest

from moet_boot.machine.facts.memory import BuddyInfo
from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.units import KIB

_ROW = re.compile(r"^Node\s+\d+,\s+zone\s+(\w+)((?:\s+\d+)+)\s*$", re.MULTILINE)


def parse_buddyinfo(text: str, page_kb: int) -> BuddyInfo:
    """Free blocks by order, summed over all zones and nodes. Raises UnreadError when there is no zone.

    All zones count: what Normal cannot serve is taken from a lower one, and on arm64 without memory below
    4 GiB the DMA zone holds everything.
    """
    rows = [(zone, [int(blocks) for blocks in counts.split()]) for zone, counts in _ROW.findall(text)]
    if not rows:
        raise UnreadError("/proc/buddyinfo lists no zone")
    total = [sum(column) for column in zip_longest(*(counts for _, counts in rows), fillvalue=0)]
    zones = "+".join(dict.fromkeys(zone for zone, _ in rows))
    return BuddyInfo(page_kb=page_kb, zone=zones, free_blocks_by_order=total)


def read_buddyinfo(tree: Tree) -> BuddyInfo:
    return parse_buddyinfo(tree.text("/proc/buddyinfo"), os.sysconf("SC_PAGE_SIZE") // KIB)
