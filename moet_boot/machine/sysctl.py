"""The kernel settings that decide how memory behaves, as whole numbers; and the huge page policy."""

import re

from moet_boot.machine.tree import Tree, UnreadError

NAMES = (
    "vm.compaction_proactiveness",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.oom_kill_allocating_task",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.panic_on_oom",
    "vm.swappiness",
    "vm.watermark_boost_factor",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
    "kernel.dmesg_restrict",
)


def read_sysctl(tree: Tree) -> dict[str, int]:
    """Those of NAMES that this kernel has. Raises UnreadError if it shows none of them."""
    texts = {name: tree.text_or_none(f"/proc/sys/{name.replace('.', '/')}") for name in NAMES}
    values = {name: int(text) for name, text in texts.items() if text and text.lstrip("-").isdecimal()}
    if not values:
        raise UnreadError("none of the memory settings can be read below /proc/sys/vm")
    return values


def parse_choice(text: str) -> str:
    """The chosen word of a file such as `always [madvise] never`. Raises UnreadError if none is."""
    chosen = re.search(r"\[(\w+)\]", text)
    if chosen is None:
        raise UnreadError(f"no choice is marked in {text[:60]!r}")
    return chosen.group(1)


def read_thp(tree: Tree) -> str:
    """The policy of transparent huge pages: always, madvise or never."""
    return parse_choice(tree.text("/sys/kernel/mm/transparent_hugepage/enabled"))
