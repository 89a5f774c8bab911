from pathlib import Path

import pytest

from moet_boot.machine.swaps import parse_swaps, read_swaps
from moet_boot.machine.tree import UnreadError
from tests.machine.trees import tree_of

HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


def test_no_swap() -> None:
    assert parse_swaps(HEADER) == []


def test_a_swap_file_a_partition_and_zram(tmp_path: Path) -> None:
    rows = (
        "/swap.img                               file\t\t16777212\t12582912\t-2\n"
        "/dev/nvme0n1p3                          partition\t8388604\t\t0\t\t-3\n"
        "/dev/zram0                              partition\t4194300\t\t10\t\t100\n"
    )
    swaps = read_swaps(tree_of(tmp_path, {"/proc/swaps": HEADER + rows}))
    assert [swap.dev for swap in swaps] == ["/swap.img", "/dev/nvme0n1p3", "/dev/zram0"]
    assert (swaps[0].type, swaps[0].size_kb, swaps[0].used_kb, swaps[0].prio) == ("file", 16777212, 12582912, -2)
    assert swaps[2].prio == 100


def test_a_name_with_a_blank() -> None:
    (swap,) = parse_swaps(HEADER + r"/my\040disk/swap file 100 0 -2")
    assert swap.dev == "/my disk/swap"


@pytest.mark.parametrize("row", ["/swap file 100 0", "/swap file many 0 -2", "/swap file 100 -4 -2", "x"])
def test_a_row_that_is_no_swap_area(row: str) -> None:
    with pytest.raises(UnreadError, match="no swap area"):
        parse_swaps(HEADER + row)
