from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from moet_boot.machine.meminfo import parse_meminfo, read_meminfo
from moet_boot.machine.tree import Tree, UnreadError
from tests.machine.trees import tree_of

GB10 = """\
MemTotal:       127600748 kB
MemFree:         1363149 kB
MemAvailable:   12058624 kB
Buffers:          209715 kB
Cached:          3051357 kB
Active(anon):    1342177 kB
Active(file):    1268892 kB
Inactive(file):  1732248 kB
SwapTotal:      16777212 kB
SwapFree:       16777212 kB
Zswap:                 0 kB
Shmem:            157286 kB
KernelStack:       18432 kB
HugePages_Total:       5
HugePages_Free:        2
Hugepagesize:       2048 kB
Hugetlb:           10240 kB
CmaTotal:              0 kB
CmaFree:          940604 kB
"""


def test_a_gb10() -> None:
    info = parse_meminfo(GB10)
    assert info.mem_total == 127600748
    assert info.mem_available == 12058624
    assert (info.active_file, info.inactive_file) == (1268892, 1732248)
    assert (info.huge_pages_total, info.huge_pages_free, info.huge_page_size) == (5, 2, 2048)
    assert (info.cma_total, info.cma_free) == (0, 940604)


def test_fields_that_a_kernel_lacks_are_unknown_or_nothing() -> None:
    info = parse_meminfo("MemTotal: 100 kB\nMemFree: 50 kB\n")
    assert info.mem_available is None
    assert info.cma_total is None
    assert info.swap_total == 0


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no MemFree and no MemTotal"),
        ("MemTotal: 100 kB", "no MemFree"),
        ("MemFree: 100 kB", "no MemTotal"),
        ("MemTotal: -5 kB\nMemFree: 1 kB", "no MemTotal"),
        ("MemTotal: lots\nMemFree: 1 kB", "no MemTotal"),
    ],
)
def test_a_text_that_is_no_meminfo(text: str, named: str) -> None:
    with pytest.raises(UnreadError, match=named):
        parse_meminfo(text)


def test_figures_that_contradict_each_other() -> None:
    with pytest.raises(ValidationError, match="more than MemTotal"):
        parse_meminfo("MemTotal: 100 kB\nMemFree: 101 kB")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    with pytest.raises((UnreadError, ValidationError)):
        parse_meminfo(text)


@given(
    total=st.integers(1, 2**40),
    others=st.dictionaries(st.sampled_from(["Buffers", "Slab", "Mapped", "Dirty"]), st.integers(0, 2**50)),
)
def test_every_figure_comes_back(total: int, others: dict[str, int]) -> None:
    text = "\n".join(f"{name}:   {size} kB" for name, size in {"MemTotal": total, "MemFree": 0, **others}.items())
    dumped = parse_meminfo(text).model_dump(by_alias=True)
    assert {name: dumped[name] for name in others} == others


def test_this_machine() -> None:
    info = read_meminfo(Tree())
    assert info.available_bytes is not None
    assert 0 < info.available_bytes < info.total_bytes


def test_a_machine_without_proc(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_meminfo(tree_of(tmp_path, {}))
