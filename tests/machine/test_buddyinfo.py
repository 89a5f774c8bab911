from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.buddyinfo import parse_buddyinfo, read_buddyinfo
from moet_boot.machine.tree import UnreadError
from tests.machine.trees import tree_of

X86 = """\
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3
Node 0, zone    DMA32      2      2      4      2      5      4      3      3      4      2    752
Node 0, zone   Normal   2665   1143    948    559    246    104     50    264    186    120    583
"""


def test_zones_are_summed_by_order() -> None:
    info = parse_buddyinfo(X86, page_kb=4)
    assert info.zone == "DMA+DMA32+Normal"
    assert info.free_blocks_by_order[0] == 2667
    assert info.free_blocks_by_order[-1] == 3 + 752 + 583


def test_two_nodes_count_together() -> None:
    info = parse_buddyinfo("Node 0, zone Normal 1 2 3\nNode 1, zone Normal 10 20 30\n", page_kb=4)
    assert info.zone == "Normal"
    assert info.free_blocks_by_order == [11, 22, 33]


@pytest.mark.parametrize("orders", [10, 11, 14])
def test_the_kernel_says_how_many_orders_there_are(orders: int) -> None:
    text = "Node 0, zone   Normal " + " ".join(str(n) for n in range(orders))
    assert len(parse_buddyinfo(text, page_kb=64).free_blocks_by_order) == orders


def test_pages_of_another_size_are_noted() -> None:
    assert parse_buddyinfo("Node 0, zone Normal 1", page_kb=64).page_kb == 64


@pytest.mark.parametrize(
    "text", ["", "Node 0, zone", "Node 0, zone Normal", "zone Normal 1 2", "Node 0, zone Normal x"]
)
def test_a_text_without_zones(text: str) -> None:
    with pytest.raises(UnreadError, match="lists no zone"):
        parse_buddyinfo(text, page_kb=4)


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=14), min_size=1, max_size=4))
def test_no_block_is_lost(zones: list[list[int]]) -> None:
    text = "\n".join(f"Node 0, zone Z{i} {' '.join(map(str, counts))}" for i, counts in enumerate(zones))
    assert sum(parse_buddyinfo(text, page_kb=4).free_blocks_by_order) == sum(map(sum, zones))


def test_reading_takes_the_page_size_of_this_machine(tmp_path: Path) -> None:
    info = read_buddyinfo(tree_of(tmp_path, {"/proc/buddyinfo": X86}))
    assert info.page_kb in {4, 16, 64}
